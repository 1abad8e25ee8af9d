import { createParser } from "eventsource-parser";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { pipeline, type Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { constants, createBrotliDecompress, createUnzip } from "node:zlib";

export interface Post {
  url: URL;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
  signal?: AbortSignal | undefined;
  /** Milliseconds to connect, TLS included. Default 10,000, as for fetch. */
  connectMs?: number | undefined;
}

export interface ServerEvent {
  event?: string | undefined;
  data: string;
  /** A comment, which means that the server is still working. */
  isComment?: boolean;
  /** The body is one JSON value, without events. */
  isWhole?: boolean;
}

export interface PostAnswer {
  status: number;
  headers: Headers;
  text: () => Promise<string>;
  /**
   * Server-sent events and comments, those of one packet together, up to `[DONE]`; a whole JSON body is one event. Throws ConnectionError,
   * or the signal's reason.
   */
  events: () => AsyncGenerator<ServerEvent[], void>;
}

/** Its `cause` is the error below HTTP. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

const toError = (error: unknown, signal: AbortSignal | undefined): unknown =>
  signal?.aborted ? signal.reason : new ConnectionError("The connection could not be made, or broke.", { cause: error });

const CONNECT_MS = 10_000;
const MOST_REDIRECTS = 5;
/** Other redirects turn into a GET. */
const REDIRECTS = new Set([307, 308]);

/**
 * Posts over connections that Node's agents keep alive, through a proxy with NODE_USE_ENV_PROXY. Throws ConnectionError, or the signal's
 * reason.
 */
export async function postForEvents(post: Post): Promise<PostAnswer> {
  let { url, headers } = post;
  for (let redirects = 0; ; redirects++) {
    const response = await send({ ...post, url, headers });
    const { statusCode: status = 0, headers: answered } = response;
    if (!REDIRECTS.has(status) || answered.location === undefined || redirects === MOST_REDIRECTS) return toAnswer(response, post.signal);
    response.resume();
    const target = new URL(answered.location, url);
    if (target.origin !== url.origin) headers = withoutSecrets(headers);
    url = target;
  }
}

const HARMLESS = new Set(["accept", "content-type", "user-agent"]);

/** Any other header may be a key. */
function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name)));
}

function send(post: Post): Promise<IncomingMessage> {
  const { url, headers, body, signal, connectMs = CONNECT_MS } = post;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === "https:";
  const length = { "content-length": Buffer.byteLength(body) };
  const options = { method: "POST", headers: { ...headers, ...length }, ...(signal ? { signal } : {}) };
  const request = (isSecure ? https : http).request(url, options);
  let isAnswered = false;
  request.once("response", (response) => {
    isAnswered = true;
    resolve(response);
  });
  request.on("error", (error: NodeJS.ErrnoException) => {
    if (isAnswered) return; // the response has it, too
    // The server closed a kept connection during the request: https://nodejs.org/api/http.html#requestreusedsocket
    const isStale = request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
    if (isStale && !signal?.aborted) resolve(send(post));
    else reject(toError(error, signal));
  });
  request.once("socket", (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => request.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
    for (const event of [isSecure ? "secureConnect" : "connect", "close"]) socket.once(event, () => clearTimeout(timer));
  });
  request.end(body);
  return promise;
}

function toAnswer(response: IncomingMessage, signal: AbortSignal | undefined): PostAnswer {
  const body = decoded(response).setEncoding("utf8");
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(response.headers as Record<string, string>),
    text: () =>
      text(body).catch((error: unknown) => {
        throw toError(error, signal);
      }),
    events: () => readEvents(body, signal),
  };
}

/** Some proxies compress unasked. */
function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  const decompress = encoding === "br" ? brotli() : /^(?:x-)?(?:gzip|deflate)$/.test(encoding) ? unzip() : null;
  return decompress ? pipeline(response, decompress, () => undefined) : response;
}

// Each event at once.
const unzip = () => createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH });
const brotli = () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH });

export const isEnd = ({ data }: ServerEvent): boolean => data.length < 10 && data.trim() === "[DONE]";

async function* readEvents(body: Readable, signal: AbortSignal | undefined): AsyncGenerator<ServerEvent[], void> {
  const events: ServerEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => void events.push({ event, data }),
    onComment: () => void events.push({ data: "", isComment: true }),
  });
  let isWhole = false;
  let json: string | null = null;
  let hasBegun = false;
  try {
    for await (const part of body.iterator({ destroyOnReturn: false })) {
      const text = part as string;
      if (!hasBegun && text.trim() !== "") {
        hasBegun = true;
        if (/^[\s\uFEFF]*[{[]/.test(text)) json = "";
      }
      if (json === null) parser.feed(text);
      else json += text;
      if (events.length === 0) continue;
      isWhole = events.some(isEnd);
      yield events.splice(0);
      if (isWhole) return;
    }
    parser.feed("\n\n"); // an event without a final blank line
    yield json === null ? events : [{ data: json, isWhole: true }];
  } catch (error) {
    throw toError(error, signal);
  } finally {
    if (isWhole) readToEnd(body);
    else body.destroy();
  }
}

/** Milliseconds for the end of a body after its last event. */
const END_MS = 1_000;

/** Many servers send the end in its own packet; only a connection read to its end is kept. */
function readToEnd(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), END_MS).unref();
  body.once("close", () => clearTimeout(timer)).on("error", () => undefined);
  body.resume();
}
