import { AppError } from "../../../errors/app-error.ts";
import { indexUnreachable } from "../contract/search-index.ts";

export const NOT_FOUND = 100;
/** Released: after a restart of the server, say. */
export const NOT_LOADED = 101;
export const INDEX_NOT_FOUND = 700;

/** A failure that the server answered with. https://milvus.io/docs/error_code.md */
export class MilvusRefusal extends Error {
  override readonly name = "MilvusRefusal";
  readonly code: number | string;

  constructor(code: number | string, reason: string) {
    super(`Milvus answered ${code}: ${reason}`);
    this.code = code;
  }
}

interface Status {
  error_code?: string | number;
  code?: number;
  reason?: string;
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && ("error_code" in value || "code" in value) && "reason" in value;
}

/** Older servers set `error_code` only. */
function refusalIn(response: unknown): MilvusRefusal | undefined {
  const status: unknown = typeof response === "object" && response !== null && "status" in response ? response.status : response;
  if (!isStatus(status)) return undefined;
  const { error_code = "Success", code = 0, reason = "" } = status;
  if (code === 0 && (error_code === "Success" || error_code === 0)) return undefined;
  return new MilvusRefusal(code === 0 ? error_code : code, reason);
}

/**
 * The SDK returns some failures and throws others, also as responses. Throws MilvusRefusal when the server answered with a failure, else
 * AppError `index_unavailable`.
 */
export async function checkMilvusResponse<Response>(call: Promise<Response>): Promise<Response> {
  const response = await call.catch((error: unknown) => {
    throw (error instanceof Error ? undefined : refusalIn(error)) ?? indexUnreachable(error);
  });
  const refusal = refusalIn(response);
  if (refusal) throw refusal;
  return response;
}

/** A refusal becomes AppError `index_unavailable`: the turn goes on without memory. */
export function throwRefusal(error: unknown): never {
  if (!(error instanceof MilvusRefusal)) throw error;
  throw new AppError("index_unavailable", "The search index refused a request. The log has its reason.", { cause: error });
}
