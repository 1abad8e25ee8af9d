import type { PostAnswer } from "./post-for-events.ts";
import { type Fields, isObject } from "./fields.ts";

/** What a server sent in place of an answer, or inside one. */
export class ServerFailure extends Error {
  override readonly name = "ServerFailure";
  /** The body, parsed when it was JSON; undefined for other bodies. */
  readonly error: unknown;
  /** HTTP's status, else the number in the body or the frame. */
  readonly status: number | undefined;
  /** Seconds until the server wants to be asked again. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, body, headers }: { status: number | undefined; body: unknown; headers?: Headers | undefined }) {
    super(typeof body === "string" ? body : "");
    const error = typeof body === "object" && body !== null ? body : undefined;
    this.error = error && errorWithin(error);
    this.status = status !== undefined && status >= 300 ? status : statusWithin(error);
    this.retryAfterSeconds = readRetryAfter(headers);
  }
}

/** The object with the server's words: `error`, or the body itself. Gemini sends a list. */
function errorWithin(body: object): unknown {
  const first: unknown = Array.isArray(body) ? (body as unknown[])[0] : body;
  return isObject(first) && isObject(first["error"]) ? first["error"] : first;
}

/** Kinds of failures that servers name without a number. */
const STATUS_OF_KIND: readonly [kind: RegExp, status: number][] = [
  [/overloaded/i, 529],
  [/rate_?limit|too_many_requests|RESOURCE_EXHAUSTED|throttl/i, 429],
  [/UNAVAILABLE|service_unavailable/, 503],
  [/authentication_error|UNAUTHENTICATED/, 401],
  [/permission_error|PERMISSION_DENIED/, 403],
  [/timeout|DEADLINE_EXCEEDED/i, 504],
  [/^(?:api_error|server_error|internal_server_error|INTERNAL)$/, 500],
];

function statusWithin(body: object | undefined): number | undefined {
  const error = body && errorWithin(body);
  if (!isObject(error)) return undefined;
  const named = [error["code"], error["status"], error["status_code"], error["http_status"], (body as Fields)["code"]];
  const number = named.map(Number).find((one) => Number.isInteger(one) && one >= 400 && one < 600);
  if (number !== undefined) return number;
  const kinds = [error["type"], error["status"], error["code"]].filter((kind) => typeof kind === "string");
  return STATUS_OF_KIND.find(([kind]) => kinds.some((one) => kind.test(one)))?.[1];
}

/** Seconds, or a date: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after. Some servers add milliseconds. */
export function readRetryAfter(headers: unknown, now = Date.now()): number | undefined {
  if (!(headers instanceof Headers)) return undefined;
  const inMs = Number(headers.get("retry-after-ms") ?? NaN);
  if (inMs >= 0) return Math.ceil(inMs / 1_000);
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const seconds = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - now) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

export async function readFailure({ status, headers, text }: PostAnswer): Promise<ServerFailure> {
  const words = await text();
  try {
    return new ServerFailure({ status, body: JSON.parse(words), headers });
  } catch {
    return new ServerFailure({ status, body: words, headers }); // a page, or plain words
  }
}
