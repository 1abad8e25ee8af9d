import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

export interface RawAttack {
  name: string;
  pieces: Buffer[];
  /** `half` closes its own side and waits; `reset` is gone at once. */
  end: "wait" | "half" | "reset";
}

export interface RawOutcome {
  answers: { status: number; headers: Record<string, string>; text: string }[];
  closed: boolean;
}

type Random = (below: number) => number;

const CHAT = "/api/v1/chat";
const head = (line: string, ...headers: string[]): string => `${[line, ...headers].join("\r\n")}\r\n\r\n`;
const post = (path: string, ...headers: string[]): string =>
  head(`POST ${path} HTTP/1.1`, "host: localhost", "content-type: application/json", ...headers);
const BODY = JSON.stringify({ user_id: "raw-user", session_id: "s", message: "x", unknown: 1 }); // refused when it is read at all
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

const oneOf = (random: Random, texts: readonly string[]): string => texts[random(texts.length)] ?? "";
const LINES = [
  ...["GET", "GET /", "GET / HTTP/9.9", "GET  / HTTP/1.1", "get / http/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 x"],
  ...["GE\0T / HTTP/1.1", "GET /\x80\xff HTTP/1.1"],
];
const TARGETS = [
  ..."* http://other/api/v1/chat // /../../x /% /api/v1/users/%ff \\ http://[ ? /healthz#x /healthz?%".split(" "),
  ...["//evil/healthz", "/api/v1//status"],
];
const CHUNKS = [
  ...["zz\r\nabc\r\n", "-1\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "ffffffffffffffffff\r\n", "3;x=\0\r\nabc\r\n"],
  `3;${"x".repeat(20_000)}\r\nabc\r\n`,
];
const PATHS = [CHAT, "/api/v1/chat/stream", "/v1/chat/completions", "/api/v1/conversations/import", "/api/v1/knowledge/travel/documents"];

const MAKERS: Record<string, (random: Random) => (string | Buffer)[]> = {
  "no HTTP at all": (random) => [randomBytes(1 + random(3_000))],
  "a TLS hello": () => [Buffer.from("16030100f8010000f40303", "hex"), randomBytes(200)],
  "an HTTP/2 preface": () => ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Buffer.from("000000040000000000", "hex")],
  "a broken request line": (random) => [head(oneOf(random, LINES), "host: localhost")],
  "strange targets": (random) => {
    const line = `${oneOf(random, "GET POST OPTIONS HEAD TRACE DELETE".split(" "))} ${oneOf(random, TARGETS)} HTTP/1.1`;
    return [head(line, "host: localhost", "content-length: 0", "connection: close")];
  },
  "a tunnel": (random) => [head("CONNECT other:443 HTTP/1.1", "host: other:443"), randomBytes(random(100))],
  "an upgrade": () => [
    head("GET /healthz HTTP/1.1", "host: localhost", "connection: upgrade", "upgrade: websocket", "sec-websocket-key: x"),
    "\x81\x05hello",
  ],
  "HTTP/1.0 and without a host": (random) => [head(`GET /healthz HTTP/1.${random(2)}`)],
  "a header without a colon": () => [head("GET /healthz HTTP/1.1", "host: localhost", "nonsense")],
  "headers with controls in them": (random) => [
    head("GET /healthz HTTP/1.1", "host: localhost", `x-a: a${String.fromCharCode(random(32))}b`, " folded: x"),
  ],
  "bytes in headers that are no text": () => [head("GET /api/v1/status HTTP/1.1", "host: \xff\xfe")],
  "an injected line": () => [
    head("GET /api/v1/users/x%0d%0aset-cookie:%20a HTTP/1.1", "host: localhost", "x-request-id: a\nx-injected: 1", "connection: close"),
  ],
  "huge headers": (random) => [head("GET /healthz HTTP/1.1", "host: localhost", `x-big: ${"x".repeat(16_000 + random(3) * 20_000)}`)],
  "thousands of headers": (random) => [
    head("GET /healthz HTTP/1.1", "host: localhost", ...Array.from({ length: 500 + random(3_000) }, (_, index) => `a${index}: `)),
  ],
  "a huge address": (random) => [head(`GET /healthz?${"x".repeat(random(40_000))} HTTP/1.1`, "host: localhost", "connection: close")],
  "both lengths": () => [post(CHAT, `content-length: ${BODY.length}`, "transfer-encoding: chunked"), chunk(BODY), "0\r\n\r\n"],
  "two lengths": () => [post(CHAT, "content-length: 3", "content-length: 30"), BODY],
  "a length that is none": (random) => [
    post(CHAT, `content-length: ${oneOf(random, ["-1", "1e3", "0x10", "99999999999999999999", "", "+5", "5, 5"])}`),
    BODY,
  ],
  "a length that is too short": (random) => [post(oneOf(random, PATHS), `content-length: ${1 + random(BODY.length)}`), BODY],
  "wrong sizes of chunks": (random) => [post(oneOf(random, PATHS), "transfer-encoding: chunked"), oneOf(random, CHUNKS)],
  "another transfer encoding": (random) => [
    post(CHAT, `transfer-encoding: ${oneOf(random, ["gzip", "chunked, chunked", "xchunked", "identity", "chunked, gzip"])}`),
    chunk(BODY),
  ],
  trailers: () => [post(CHAT, "transfer-encoding: chunked", "connection: close"), chunk(BODY), "0\r\ncontent-length: 9\r\nx: y\r\n\r\n"],
  "a body that is no UTF-8": (random) => {
    const bytes = Buffer.concat([Buffer.from('{"user_id":"'), randomBytes(1 + random(40)), Buffer.from([0xff]), Buffer.from('"}')]);
    return [post(oneOf(random, PATHS.slice(0, 4)), `content-length: ${bytes.length}`, "connection: close"), bytes];
  },
  "an expectation": (random) => [
    post(CHAT, `expect: ${oneOf(random, ["100-continue", "200-ok", ""])}`, `content-length: ${BODY.length}`, "connection: close"),
    BODY,
  ],
  "garbage behind a request": (random) => [
    head("GET /healthz HTTP/1.1", "host: localhost"),
    randomBytes(1 + random(200)),
    head("GET /healthz HTTP/1.1"),
  ],
  "many requests at once": (random) => [head("GET /api/v1/status HTTP/1.1", "host: localhost").repeat(1 + random(40)), "X"],
  "a body where none belongs": () => [
    head("GET /api/v1/jobs HTTP/1.1", "host: localhost", "content-length: 5", "connection: close"),
    "{}{}{",
  ],
  "half a head": (random) => [post(CHAT).slice(0, 1 + random(60))],
  "half a body": (random) => [post(oneOf(random, PATHS), `content-length: ${BODY.length + 10}`), BODY.slice(0, random(BODY.length))],
  nothing: () => [],
};

export function makeAttack(random: Random): RawAttack {
  const name = oneOf(random, Object.keys(MAKERS));
  const made = MAKERS[name]?.(random) ?? [];
  const bytes = Buffer.concat(made.map((piece) => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)));
  const cut = random(bytes.length + 1);
  const pieces = random(2) === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)];
  return { name, pieces, end: (["wait", "wait", "half", "reset"] as const)[random(4)] ?? "wait" };
}

function answersIn(received: Buffer): RawOutcome["answers"] {
  const answers: RawOutcome["answers"] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd < 0) return answers;
    const [line = "", ...lines] = rest.subarray(0, headEnd).toString("latin1").split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? 999);
    const headers = Object.fromEntries(
      lines.map((text) => [text.slice(0, text.indexOf(":")).toLowerCase(), text.slice(text.indexOf(":") + 2)]),
    );
    const length = status === 100 ? 0 : Number(headers["content-length"] ?? Infinity);
    const text = rest.subarray(headEnd + 4, headEnd + 4 + length).toString();
    if (status !== 100) answers.push({ status, headers, text });
    if (!Number.isFinite(length)) return answers;
    rest = rest.subarray(headEnd + 4 + length);
  }
}

/** Connects, has `begin` say something, and waits until the service closes, or says nothing for `silenceMs`, or `longestMs` are over. */
async function converse(
  url: string,
  limits: { silenceMs?: number; longestMs?: number },
  begin: (socket: Socket) => void,
): Promise<RawOutcome> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  const received: Buffer[] = [];
  const timer = setTimeout(() => resolve(false), limits.longestMs ?? 2 ** 30);
  socket.setTimeout(limits.silenceMs ?? 0, () => resolve(false));
  socket.on("data", (piece: Buffer) => received.push(piece));
  for (const ending of ["error", "end", "close"]) socket.on(ending, () => resolve(true));
  socket.on("connect", () => begin(socket));
  const closed = await promise;
  clearTimeout(timer);
  socket.destroy();
  return { answers: answersIn(Buffer.concat(received)), closed };
}

/** Sends it, and waits until the service closes, or says nothing for `silenceMs`. */
export function attack(url: string, { pieces, end }: RawAttack, silenceMs: number): Promise<RawOutcome> {
  return converse(url, { silenceMs }, (socket) => {
    for (const piece of pieces) socket.write(piece);
    if (end === "half") socket.end();
    if (end === "reset") setImmediate(() => socket.resetAndDestroy());
  });
}

export const targetOf = ({ pieces }: RawAttack): string => /^\S+ (\S+)/.exec(Buffer.concat(pieces).toString("latin1"))?.[1] ?? "";

/** Sends a body in chunks of 64 KiB, as fast as it is taken, until the service closes the connection, at most a minute. */
export function sendWithoutEnd(url: string, line: string, type: string): Promise<RawOutcome> {
  const piece = `10000\r\n${" ".repeat(65_536)}\r\n`;
  return converse(url, { longestMs: 60_000 }, (socket) => {
    function sendOn(): void {
      if (!socket.destroyed && socket.write(piece)) setImmediate(sendOn);
    }
    socket.on("drain", sendOn);
    socket.write(`${line} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
    sendOn();
  });
}
