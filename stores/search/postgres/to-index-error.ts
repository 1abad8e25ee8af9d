import { AppError } from "../../../errors/app-error.ts";

/** Rethrows a failure of the database as one of the index: a turn goes on without its memory. What is wrong with a statement passes unchanged. */
export function toIndexError(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== "storage_unavailable") throw error;
  throw new AppError("index_unavailable", "The search index cannot be reached at the moment. Try again in a few seconds.", {
    cause: error,
  });
}
