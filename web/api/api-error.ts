import type { Problem } from "./types.ts";

export const NO_CONNECTION = "no_connection";

/** A refusal of the service, or a request that never reached it (status 0, code `no_connection`). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly details: readonly Problem[];

  constructor(status: number, code: string, message: string, details: readonly Problem[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  get retryable(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503 || ["conversation_busy", "turn_cancelled"].includes(this.code);
  }
}

/** Any thrown value as an ApiError; `fetch` throws when nobody answers. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, NO_CONNECTION, error instanceof Error ? error.message : String(error));
}

/** A proxy's answer may be no JSON. */
export async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as { error?: { code: string; message: string; details?: Problem[] } } | null;
  const { code = `http_${response.status}`, message = `${response.status} ${response.statusText}`, details } = body?.error ?? {};
  return new ApiError(response.status, code, message, details);
}
