import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import type { FuzzAnswer } from "./fuzz-answer.ts";
import type { FuzzRequest } from "./fuzz-request.ts";
import { PLACEHOLDERS, type Placeholder } from "./fuzz-text.ts";

const PATIENCE_MS = 60_000;

export type Filling = Record<Placeholder, string>;

export function fillIn(request: FuzzRequest, filling: Filling): FuzzRequest {
  const fill = (text: string): string => PLACEHOLDERS.reduce((filled, name) => filled.replaceAll(name, filling[name]), text);
  const isText = request.body?.includes("-PLACE") ?? false;
  return {
    ...request,
    target: fill(request.target),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, fill(value)])),
    body: isText && request.body ? Buffer.from(fill(request.body.toString("latin1")), "latin1") : request.body,
  };
}

async function wholeText(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

export function makeFuzzSender(url: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);

  async function once({ method, target, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
    const length: Record<string, string> = body === null ? {} : { "content-length": String(body.length) };
    const sending = httpRequest({ agent, hostname, port, method, path: target, headers: { ...headers, ...length }, timeout: PATIENCE_MS });
    sending.on("timeout", () => sending.destroy(new Error(`no answer in ${PATIENCE_MS} ms`)));
    sending.on("error", (error) => reject(Object.assign(error, { isStale: sending.reusedSocket })));
    sending.on("response", (answer) => {
      wholeText(answer).then((text) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }), reject);
    });
    sending.end(body ?? undefined);
    return promise;
  }

  return {
    /** The whole answer. Throws when the connection breaks before it has come. */
    async send(request: FuzzRequest): Promise<FuzzAnswer> {
      for (;;) {
        try {
          return await once(request);
        } catch (error) {
          const { isStale, code } = error as { isStale?: boolean; code?: string };
          if (!isStale || (code !== "ECONNRESET" && code !== "EPIPE")) throw error;
        }
      }
    },
    close: () => agent.destroy(),
  };
}
