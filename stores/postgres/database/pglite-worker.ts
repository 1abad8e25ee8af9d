import { inspect } from "node:util";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { createPGlite } from "./create-pglite.ts";
import { CLOSE, type PGliteTask, type PGliteWorkerAnswer } from "./pglite-thread.ts";

/** The thread of an embedded Postgres. Each port is a connection: bytes of Postgres' protocol come in, and go out. */
const { dataDir, loadDataDir } = workerData as PGliteTask;

/** PGlite has one session. A new connection finds it as a server would give it. */
const NEW_SESSION = ["rollback", "deallocate all"].map(simpleQuery);

/** https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-QUERY */
function simpleQuery(text: string): Uint8Array {
  const bytes = Buffer.from(`Q....${text}\0`);
  bytes.writeUInt32BE(bytes.length - 1, 1);
  return bytes;
}

/** The startup message has no letter before its length. */
const isStartup = (message: Uint8Array): boolean => message[0] === 0;

function answer(message: PGliteWorkerAnswer): void {
  parentPort?.postMessage(message);
}

try {
  const pglite = await createPGlite(dataDir, loadDataDir ? { loadDataDir: new Blob([loadDataDir]) } : {});
  // The statement itself runs at once, before the call returns.
  const execute = (message: Uint8Array, onRawData: (bytes: Uint8Array) => void) =>
    void pglite.execProtocolRawStream(message, { syncToFs: false, onRawData });

  parentPort?.on("message", (message: MessagePort | typeof CLOSE) => {
    if (message === CLOSE) return void pglite.close().finally(() => parentPort?.close());
    message.on("message", (bytes: Uint8Array) => {
      if (isStartup(bytes)) for (const query of NEW_SESSION) execute(query, () => undefined);
      execute(bytes, (part) => {
        const copy = part.slice(); // of PGlite's memory, which the next statement overwrites
        message.postMessage(copy, [copy.buffer]);
      });
    });
  });
  answer({ cause: null });
} catch (error) {
  answer({ cause: inspect(error) });
  parentPort?.close();
}
