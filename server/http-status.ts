import type { ErrorCode } from "../errors/error-codes.ts";

/** The HTTP status of each error code. A new code does not compile until it has one. */
export const HTTP_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  conversation_busy: 409,
  stale_version: 409,
  turn_cancelled: 409,
  turn_superseded: 409,
  message_too_long: 413,
  body_too_large: 413,
  unsupported_media_type: 415,
  internal_error: 500,
  invalid_configuration: 500,
  model_unavailable: 503,
  model_rate_limited: 503,
  model_refused: 503,
  model_first_token_timeout: 503,
  model_stalled: 503,
  model_interrupted: 503,
  model_incomplete: 503,
  model_bad_response: 503,
  index_unavailable: 503,
  embedder_unavailable: 503,
  storage_unavailable: 503,
  shutting_down: 503,
} as const satisfies Record<ErrorCode, number>;
