import { AppError } from "../../../errors/app-error.ts";
import { MilvusRefusal } from "./milvus-refusal.ts";

/** Rethrows what checkMilvusResponse throws, a refusal as AppError `index_unavailable`: a turn goes on without its memory. */
export function toIndexError(error: unknown): never {
  if (!(error instanceof MilvusRefusal)) throw error;
  throw new AppError("index_unavailable", "The search index refused a request. The log has its reason.", { cause: error });
}
