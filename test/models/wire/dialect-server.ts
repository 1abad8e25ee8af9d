import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { startHttpServer } from "../../servers/http-server.ts";
import { type Dialect, packetsOf, REPLIES, type ReplyName } from "./dialect.ts";
import { dialectNamed } from "./dialects.ts";

const COMPRESS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync };

/** Packets as they are on the wire. The same bytes each time. */
export const encoded = ({ encoding }: Dialect, packets: Buffer[]): Buffer[] =>
  encoding ? [COMPRESS[encoding](Buffer.concat(packets))] : packets;

export const headersOf = ({ headers = { "content-type": "text/event-stream" } }: Dialect): Readonly<Record<string, string>> => headers;

/** Each packet in a packet of its own, as far as the network agrees. */
export async function sendPackets(response: ServerResponse, packets: readonly Buffer[]): Promise<void> {
  for (const packet of packets) {
    response.write(packet);
    await nextTurn();
  }
}

async function answer(response: ServerResponse, path: string): Promise<void> {
  const [, name = "", reply = ""] = path.split("/").map(decodeURIComponent);
  const dialect = dialectNamed(name);
  response.writeHead(200, headersOf(dialect));
  await sendPackets(response, encoded(dialect, packetsOf(dialect, REPLIES[reply as ReplyName])));
  if (!dialect.staysOpen) response.end();
}

/** A server that says every reply in every dialect. */
export async function startDialectServer() {
  const server = await startHttpServer((request, response) => {
    request.resume();
    answer(response, request.url ?? "").catch((error: unknown) => response.destroy(error as Error));
  });
  return {
    ...server,
    /** Up to `/v1`. */
    addressOf: ({ name }: Dialect, reply: ReplyName): string => `${server.origin}/${encodeURIComponent(name)}/${reply}/v1`,
  };
}
