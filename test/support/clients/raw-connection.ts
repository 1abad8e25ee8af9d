import { connect } from "node:net";
import { once } from "node:events";
import { waitUntil } from "../wait-until.ts";

export type RawConnection = Awaited<ReturnType<typeof connectTo>>;

/** A TCP connection to the service, for the bytes that an HTTP client hides. */
export async function connectTo(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.on("error", () => undefined); // a reset shows in `closed`
  const closed = once(socket, "close");
  await once(socket, "connect");
  const received = (): string => Buffer.concat(pieces).toString();
  return {
    socket,
    received,
    closed,
    /** Throws at once, with what came instead, when the connection ends without it. */
    async until(text: string): Promise<void> {
      await waitUntil(`"${text}" on the wire`, () => received().includes(text) || socket.closed);
      if (!received().includes(text)) throw new Error(`not "${text}" was on the wire, but: ${received()}`);
    },
  };
}

export function postBytes(path: string, body: unknown, headers: Record<string, string> = {}): string {
  const json = JSON.stringify(body);
  const lines = { host: "localhost", "content-type": "application/json", "content-length": String(Buffer.byteLength(json)), ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${head.join("")}\r\n${json}`;
}

/** Takes a chunked response apart; throws when a chunk has not the length it says, or when the end is missing. */
export function parseChunkedResponse(bytes: string): { statusLine: string; headers: Record<string, string>; chunks: string[] } {
  const headEnd = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...headerLines] = bytes.slice(0, headEnd).split("\r\n");
  const headers = Object.fromEntries(
    headerLines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
  );
  const chunks: string[] = [];
  let rest = Buffer.from(bytes.slice(headEnd + 4));
  for (;;) {
    const lineEnd = rest.indexOf("\r\n");
    const length = Number.parseInt(rest.subarray(0, lineEnd).toString(), 16);
    const chunkEnd = lineEnd + 2 + length;
    if (!(lineEnd > 0) || rest.subarray(chunkEnd, chunkEnd + 2).toString() !== "\r\n") throw new Error(`not a chunk: ${rest.toString()}`);
    if (length === 0) {
      if (rest.length > chunkEnd + 2) throw new Error(`more after the last chunk: ${rest.toString()}`);
      return { statusLine, headers, chunks };
    }
    chunks.push(rest.subarray(lineEnd + 2, chunkEnd).toString());
    rest = rest.subarray(chunkEnd + 2);
  }
}
