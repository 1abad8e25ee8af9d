import { AppError } from "../../../errors/app-error.ts";

/** A server that answered, but with a failure. `code` is its number for it. https://milvus.io/docs/error_code.md */
export class MilvusRefusal extends Error {
  override readonly name = "MilvusRefusal";
  readonly code: number | string;

  constructor(code: number | string, reason: string) {
    super(`Milvus answered ${code}: ${reason}`);
    this.code = code;
  }

  /** The collection is there, but released: after a restart of the server, say. */
  get isNotLoaded(): boolean {
    return this.code === 101;
  }

  get isNotFound(): boolean {
    return this.code === 100;
  }

  get isIndexNotFound(): boolean {
    return this.code === 700;
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

/** A status is the response itself or a part of it. Older servers fill `error_code` only, newer ones both. */
function refusalIn(response: unknown): MilvusRefusal | undefined {
  const status: unknown = typeof response === "object" && response !== null && "status" in response ? response.status : response;
  if (!isStatus(status)) return undefined;
  const { error_code = "Success", code = 0, reason = "" } = status;
  if (code === 0 && (error_code === "Success" || error_code === 0)) return undefined;
  return new MilvusRefusal(code === 0 ? error_code : code, reason);
}

/**
 * The response of a call to Milvus. The SDK reports some failures in the response and throws others, also responses: this is the one place
 * that tells them apart. Throws MilvusRefusal when the server answered with a failure, else AppError `index_unavailable`.
 */
export async function checkMilvusResponse<Response>(call: Promise<Response>): Promise<Response> {
  const response = await call.catch((error: unknown) => {
    // An error of gRPC has a code too, but is no response.
    throw (
      (error instanceof Error ? undefined : refusalIn(error)) ??
      new AppError("index_unavailable", "The search index cannot be reached at the moment. Try again in a few seconds.", { cause: error })
    );
  });
  const refusal = refusalIn(response);
  if (refusal) throw refusal;
  return response;
}

/** Rethrows what checkMilvusResponse throws, a refusal as AppError `index_unavailable`: a turn goes on without its memory. */
export function throwIndexError(error: unknown): never {
  if (!(error instanceof MilvusRefusal)) throw error;
  throw new AppError("index_unavailable", "The search index refused a request. The log has its reason.", { cause: error });
}
