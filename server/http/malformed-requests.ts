import { STATUS_CODES, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../../errors/error-codes.ts";

interface Refusal {
  status: 400 | 408 | 417 | 431;
  message: string;
}

/** By the code of Node's error: https://nodejs.org/api/http.html#event-clienterror */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: "The request has an address and headers of more than 16 KiB. Shorten them." },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: "The request did not come to its end in time. Send it again." },
};
const NOT_HTTP: Refusal = {
  status: 400,
  message: "The request is not HTTP/1.1. Check its first line, the characters of its address and headers, and the length of its body.",
};
const TUNNEL: Refusal = { status: 400, message: "The request is CONNECT, but this is no proxy. Send requests to the service itself." };
const NO_HOST: Refusal = { status: 400, message: "The request has no Host header. Send the name of the service in one." };
const NO_ADDRESS: Refusal = { status: 400, message: "The request has an address that is none. Send a path that begins with a slash." };
const EXPECTATION: Refusal = { status: 417, message: "The request expects more than 100-continue. Leave the Expect header out." };

function toAnswer({ message }: Refusal): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify({ error: { code: "invalid_request" satisfies ErrorCode, message } });
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    connection: "close",
  };
  return { body, headers };
}

function answer(response: ServerResponse, refusal: Refusal): void {
  const { body, headers } = toAnswer(refusal);
  response.writeHead(refusal.status, headers).end(body);
}

function answerOn(socket: Duplex, refusal: Refusal, isHead = false): void {
  const { body, headers } = toAnswer(refusal);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ""}\r\n${lines.join("")}\r\n${isHead ? "" : body}`, () =>
    socket.destroy(),
  );
}

/** Proxies are sent a whole URL. */
const isAddress = (target: string): boolean => target.startsWith("/") || (/^https?:\/\//i.test(target) && URL.canParse(target));

export function requireTarget(listener: RequestListener): RequestListener {
  return function listen(request, response) {
    if (request.headers.host === undefined && request.httpVersion === "1.1") return answer(response, NO_HOST);
    if (!isAddress(request.url ?? "")) return answer(response, NO_ADDRESS);
    return listener(request, response);
  };
}

/** Answers requests that reach no route, in the usual form of errors. Node alone would send no body. */
export function answerMalformedRequests(server: Server): void {
  const answering = new WeakMap<Duplex, Set<ServerResponse>>();

  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const ofSocket = answering.get(request.socket) ?? new Set();
    answering.set(request.socket, ofSocket.add(response));
    response.once("close", () => ofSocket.delete(response));
  });
  server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex) => {
    // The client would take it for a part of that answer.
    const hasBegun = [...(answering.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (!socket.writable || hasBegun || error.code === "ECONNRESET") return void socket.destroy();
    const isHead = error.rawPacket?.subarray(0, 5).toString("latin1") === "HEAD ";
    answerOn(socket, REFUSALS[error.code ?? ""] ?? NOT_HTTP, isHead);
  });
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => answer(response, EXPECTATION));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    answerOn(socket, TUNNEL);
  });
}
