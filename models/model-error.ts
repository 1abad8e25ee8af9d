import { isNativeError } from "node:util/types";
import { AppError } from "../errors/app-error.ts";
import type { ErrorCode } from "../errors/error-codes.ts";

/** HTTP statuses of requests that may succeed a moment later. */
const TRANSIENT_STATUS = new Set([408, 409, 425, 500, 502, 503, 504]);

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && "status" in error && typeof error.status === "number" ? error.status : undefined;
}

/** Errors of fetch belong to Node's realm, so under jest they are no `instanceof Error`. */
function isConnectionTrouble(error: unknown): boolean {
  let depth = 0; // an error can be its own cause
  for (let cause: unknown = error; isNativeError(cause) && depth < 10; cause = cause.cause, depth++) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    if (/^(?:API)?ConnectionError$/.test(cause.name) || /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|UND_ERR)/.test(code)) return true;
    if (cause.name === "TypeError" && /fetch failed|terminated/.test(cause.message)) return true;
  }
  return false;
}

/** The server's own words stay in `cause`. `streaming`: the answer had begun. */
export function toModelError(cause: unknown, streaming: boolean): AppError {
  if (cause instanceof AppError) return cause;
  const failed = (code: ErrorCode, what: string): AppError => new AppError(code, `The chat model's server ${what}`, { cause });
  const status = statusOf(cause);
  if (status === 429) return failed("model_rate_limited", "limits requests at the moment. Try again in a while.");
  if (status !== undefined && TRANSIENT_STATUS.has(status))
    return failed("model_unavailable", `answered with status ${status}. Try again in a while.`);
  if (status !== undefined && status >= 400)
    return failed("model_refused", `refused the request with status ${status}. Check OPENAI_API_KEY, OPENAI_BASE_URL and CHAT_MODEL.`);
  if (isConnectionTrouble(cause)) {
    if (!streaming) return failed("model_unavailable", "cannot be reached. Check OPENAI_BASE_URL, or try again in a while.");
    return new AppError("model_interrupted", "The connection to the chat model broke in the middle of the answer. Try again.", { cause });
  }
  if (streaming) return failed("model_bad_response", "sent something that is not part of an answer. Try again.");
  return failed("model_bad_response", "sent something that is not an answer. Check OPENAI_BASE_URL, or try again.");
}
