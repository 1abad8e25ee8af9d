import { createServer } from "node:net";

/** Below the ports that Linux, macOS and Windows give to whoever asks for any port: between here and its use, nobody else gets this one. */
const FIRST_PORT = 20_000;
/** Workers of Jest have ranges of their own. */
const RANGE = 1_000;

const first = FIRST_PORT + (Number(process.env["JEST_WORKER_ID"] ?? 0) % 10) * RANGE;
let next = Math.floor(Math.random() * RANGE);

/** False: somebody listens on it. */
async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(false) : reject(error)));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}

/** A port of this machine on which nobody listens, for a server that starts later, or for none. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % RANGE);
    if (await canListen(port)) return port;
  }
}
