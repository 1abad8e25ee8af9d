import { withCauses } from "../../errors/with-causes.ts";
import { AddressRefused } from "../web/public-address.ts";
import type { McpTimes } from "./mcp-server.ts";

const TIMED_OUT = -32_001;
const CONNECTION_CLOSED = -32_000;
/** Errors of reading, by their names. */
const UNREADABLE = new Set(["RangeError", "SyntaxError", "ZodError", "$ZodError"]);

interface AnyError {
  name?: unknown;
  code?: unknown;
  message?: unknown;
  cause?: unknown;
}

const UNAUTHORIZED = 401;

/** The SDK's error for a user who has to sign in has no name and no code. */
export function isUnknownCaller(error: unknown): boolean {
  const { code, message } = (error ?? {}) as AnyError;
  return code === UNAUTHORIZED || message === "Unauthorized";
}

/** The server itself refused. */
export function wasAnswered(error: unknown): boolean {
  const { name, code } = (error ?? {}) as AnyError;
  return name === "McpError" && code !== TIMED_OUT && code !== CONNECTION_CLOSED;
}

export class McpUnavailable extends Error {
  override readonly name = "McpUnavailable";
  /** It does not know who asks. */
  readonly wantsSignIn: boolean;
  constructor(server: string, problem: string, cause?: unknown) {
    super(`The MCP server "${server}" ${problem}.`, { cause });
    this.wantsSignIn = isUnknownCaller(cause);
  }
}

/** Why a server cannot be used, without its own words. */
export function problemOf(error: unknown, { answerMs }: Pick<McpTimes, "answerMs">): string {
  for (const cause of withCauses(error)) {
    const { name, code } = cause as AnyError;
    if (cause instanceof AddressRefused) return `cannot be reached: ${cause.message.replace(/\.$/, "")}`;
    if (name === "TimeoutError") return `gave no answer within ${answerMs} ms`;
    if (typeof code === "string") return `cannot be reached (${code})`;
    if (name === "McpError")
      return code === TIMED_OUT ? `gave no answer within ${answerMs} ms` : `refused the connection (${String(code)})`;
    if (code !== UNAUTHORIZED && isUnknownCaller(cause)) return "wants its user to sign in";
    if (typeof code === "number" && code > 0) return `answered with status ${code}`;
    if (typeof name === "string" && UNREADABLE.has(name)) return "sent what is no answer of MCP";
  }
  return "cannot be used";
}
