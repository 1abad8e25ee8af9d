import { type Dialect, DONE, event, eventOf } from "./dialect.ts";
import { envelope, finishWord, type Frame, type Frames, speaking, USAGE, wholeMessage } from "./dialect-frames.ts";

const plain = speaking();
const bytes = (name: string, servers: string, wire: NonNullable<Dialect["wire"]>, more: Partial<Dialect> = {}): Dialect => ({
  ...{ name, servers, frames: plain, wire },
  ...more,
});
const events = (frames: Frame[]): string[] => frames.map(eventOf);
const everything = (frames: Frame[]): string => [...events(frames), DONE].join("");

function inPackets(text: string, size: number): Buffer[] {
  const all = Buffer.from(text);
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.subarray(at * size, (at + 1) * size));
}

const compressed = (name: string, servers: string, encoding: NonNullable<Dialect["encoding"]>, header: string = encoding): Dialect => ({
  ...{ name, servers, frames: plain, encoding, headers: { "content-encoding": header } },
});

/** The answer as a server gives it that was not asked to stream. */
const wholeBody: Frames = (reply) => [
  envelope([{ index: 0, message: wholeMessage(reply), finish_reason: finishWord(reply), logprobs: null }], {
    object: "chat.completion",
    usage: USAGE,
  }),
];
const JSON_TYPE = { "content-type": "application/json" };

/** Events and bodies. */
export const DIALECTS_OF_BYTES: readonly Dialect[] = [
  bytes("a whole body", "servers that do not stream", ([body]) => [JSON.stringify(body)], { frames: wholeBody, headers: JSON_TYPE }),
  bytes("a whole body on lines", "servers that print nicely", ([body]) => inPackets(`\n${JSON.stringify(body, null, 2)}\n`, 50), {
    ...{ frames: wholeBody, headers: JSON_TYPE },
  }),
  bytes("a whole body behind blank lines", "DeepSeek, which keeps a connection open so", ([body]) => ["\n", "\n\n", JSON.stringify(body)], {
    ...{ frames: wholeBody, headers: JSON_TYPE },
  }),
  bytes("CRLF", "sse-starlette, so most servers in Python", (frames) => [everything(frames).replaceAll("\n", "\r\n")]),
  bytes("CRLF in packets", "sse-starlette", (frames) => inPackets(everything(frames).replaceAll("\n", "\r\n"), 11)),
  bytes("CR", "nobody, but the specification has it", (frames) => [everything(frames).replaceAll("\n", "\r")]),
  bytes("a byte order mark", "proxies in .NET", (frames) => ["\uFEFF", ...events(frames), DONE]),
  bytes("ids and names of events", "DashScope's own protocol, Spring", (frames) => [
    "retry: 3000\n\n",
    ...events(frames).map((one, id) => `id:${id + 1}\nevent:result\n:HTTP_STATUS/200\n${one}`),
    "event: done\ndata: [DONE]\n\n",
  ]),
  bytes("no blank behind the colon", "Kimi Code (nullclaw/nullclaw#509), Spring", (frames) => [
    everything(frames).replaceAll("data: ", "data:"),
  ]),
  bytes("comments", "OpenRouter, DeepSeek, sse-starlette", (frames) => [
    ": OPENROUTER PROCESSING\n\n",
    ...events(frames).map((one) => `${one}: keep-alive\n\n`),
    ": ping - 2026-11-28 00:00:00\n\n",
    DONE,
  ]),
  bytes("pings", "gateways in front of Anthropic", (frames) => [
    `event: ping\ndata: {"type":"ping"}\n\n`,
    ...events(frames).map((one) => `${one}event: ping\ndata: {}\n\n`),
    DONE,
  ]),
  bytes("empty data", "gateways that must send something", (frames) => [
    "data: \n\n",
    ...events(frames).map((one) => `${one}data:\n\n`),
    "data: \n\n",
    DONE,
  ]),
  bytes("blank lines between", "load balancers that must send something", (frames) => [
    "\n\n",
    ...events(frames).map((one) => `${one}\n\n\n`),
    DONE,
  ]),
  bytes("data on several lines", "servers that print nicely", (frames) => [
    ...frames.map((frame) => `${JSON.stringify(frame, null, 2).replace(/^/gm, "data: ")}\n\n`),
    DONE,
  ]),
  bytes("characters in two packets", "every network", (frames) => inPackets(everything(frames), 3)),
  bytes("everything in one packet", "proxies that buffer", (frames) => [everything(frames)]),
  bytes("no blank line at the end", "servers that close at once", (frames) => [[...events(frames), "data: [DONE]"].join("")]),
  bytes("no blank line at the end, and no [DONE]", "servers that close at once", (frames) => [events(frames).join("").trimEnd()]),
  bytes("more behind [DONE]", "gateways that count last", (frames) => [...events(frames), DONE, event('{"cost":"0.0001"}')]),
  bytes("an open connection behind [DONE]", "servers that keep a stream for the next answer", (frames) => [...events(frames), DONE], {
    staysOpen: true,
  }),
  { name: "no content type", servers: "small servers of one file", frames: plain, headers: {} },
  { name: "content type of JSON", servers: "gateways (openclaw/openclaw#96497)", frames: plain, headers: JSON_TYPE },
  {
    name: "content type of plain text",
    servers: "proxies that sniff",
    frames: plain,
    headers: { "content-type": "text/plain; charset=utf-8" },
  },
  compressed("gzip", "nginx, Cloudflare", "gzip"),
  compressed("gzip in capitals", "old proxies", "gzip", "GZIP"),
  compressed("x-gzip", "older proxies", "gzip", "x-gzip"),
  compressed("deflate", "old proxies", "deflate"),
  compressed("br", "Cloudflare, Vercel", "br"),
];
