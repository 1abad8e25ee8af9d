import { AppError } from "../errors/app-error.ts";

/** Statuses that say the request is wrong, not that the server is busy or ill. */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);

/** What went wrong with an embedding request, as an error a client may see: the server's own words stay in `cause`. */
export function toEmbedderError(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const status = cause instanceof Error && "status" in cause && typeof cause.status === "number" ? cause.status : undefined;
  const message =
    status === undefined
      ? "The embedding model's server cannot be reached, or gave no proper answer in time. Check EMBEDDING_BASE_URL, or try again in a while."
      : isRefusal(status)
        ? `The embedding model's server refused the request with status ${status}. Check EMBEDDING_MODEL, EMBEDDING_DIMENSIONS, EMBEDDING_BASE_URL and EMBEDDING_API_KEY.`
        : `The embedding model's server answered with status ${status}. Try again in a while.`;
  return new AppError("embedder_unavailable", message, { cause });
}
