import { Duplex } from "node:stream";
import { inspect } from "node:util";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { packageFile } from "../../../errors/package-file.ts";

/** What the thread begins with. `loadDataDir`: what a new folder holds, as a packed folder. */
export interface PGliteTask {
  dataDir: string;
  loadDataDir?: Uint8Array<ArrayBuffer>;
}

/** Why the database did not open, or null. */
export interface PGliteWorkerAnswer {
  cause: string | null;
}

export const CLOSE = "close";

const WORKER_FILE = packageFile(import.meta.url.endsWith(".ts") ? "stores/postgres/database/pglite-worker.ts" : "dist/pglite-worker.js");

/** What node-postgres uses of a socket, on a port of the thread. */
class PortSocket extends Duplex {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
    port.on("message", (bytes: Uint8Array) => this.push(bytes));
    port.on("close", () => this.destroy());
  }

  connect(): this {
    process.nextTick(() => this.emit("connect"));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    this.#port.ref();
    return this;
  }

  unref(): this {
    this.#port.unref();
    return this;
  }

  override _read(): void {
    // What comes is pushed at once.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send([bytes]);
    done();
  }

  override _writev(parts: { chunk: Buffer }[], done: () => void): void {
    this.#send(parts.map(({ chunk }) => chunk));
    done();
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#port.close();
    done(error);
  }

  /** As one message: the thread answers a statement with all its parts at once. */
  #send(parts: Buffer[]): void {
    const message = new Uint8Array(parts.reduce((total, { length }) => total + length, 0));
    let end = 0;
    for (const part of parts) {
      message.set(part, end);
      end += part.length;
    }
    this.#port.postMessage(message, [message.buffer]);
  }
}

/** PGlite in a thread of its own, so that no statement holds up the event loop. */
export interface PGliteThread {
  /** A connection, for node-postgres. All of them share one session. */
  connect(): Duplex;
  close(): Promise<void>;
}

/** Throws with the cause when the folder cannot be opened. */
export async function startPGliteThread(task: PGliteTask): Promise<PGliteThread> {
  // Loaders of this process, and what they read of its environment, are not for the thread.
  const worker = new Worker(WORKER_FILE, { workerData: task, env: {}, execArgv: [] });
  let failure: Error | null = null;
  const fail = (cause: unknown): Error => (failure ??= new Error("The thread of the embedded database has ended.", { cause }));
  // Without a listener an 'error' ends the process; 'exit' follows.
  worker.on("error", fail);
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", (code) => {
      fail(`exit code ${code}`);
      resolve();
    });
  });
  const opened = new Promise<PGliteWorkerAnswer>((resolve) => worker.once("message", resolve));
  const { cause } = await Promise.race([opened, ended.then((): PGliteWorkerAnswer => ({ cause: inspect(failure) }))]);
  if (cause !== null) {
    await ended;
    throw new Error(cause);
  }
  // Its ports keep the process alive while a statement runs.
  worker.unref();
  return {
    connect() {
      const { port1, port2 } = new MessageChannel();
      const socket = new PortSocket(port1);
      if (failure) socket.destroy(failure);
      else worker.postMessage(port2, [port2]);
      return socket;
    },
    async close() {
      worker.ref();
      worker.postMessage(CLOSE);
      await ended;
    },
  };
}
