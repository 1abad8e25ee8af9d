/**
 * The closed list of error codes; `server/http/http-status.ts` has their statuses. `retryable`: the same request may succeed when it is
 * sent again.
 */
export const ERROR_CODES = {
  // what the caller sent
  invalid_request: { retryable: false },
  unsupported_media_type: { retryable: false },
  message_too_long: { retryable: false },
  picture_too_large: { retryable: false },
  body_too_large: { retryable: false },
  unauthorized: { retryable: false },
  forbidden: { retryable: false },
  misdirected_request: { retryable: false },
  not_found: { retryable: false },
  method_not_allowed: { retryable: false },
  not_offered: { retryable: false },
  previous_response_not_found: { retryable: false },
  conversation_busy: { retryable: true },
  conversation_waiting: { retryable: false },
  already_answered: { retryable: false },
  question_expired: { retryable: false },
  stale_version: { retryable: false },
  branch_in_use: { retryable: false },
  document_unreadable: { retryable: false },
  idempotency_mismatch: { retryable: false },
  turn_gone: { retryable: false },
  // who the caller is
  identity_unavailable: { retryable: true },
  rate_limited: { retryable: true },
  too_many_turns: { retryable: true },
  token_quota_exceeded: { retryable: true },
  cost_quota_exceeded: { retryable: true },
  // the chat model
  model_unavailable: { retryable: true },
  context_too_long: { retryable: false },
  model_rate_limited: { retryable: true },
  model_quota: { retryable: false },
  model_unauthorized: { retryable: false },
  model_not_found: { retryable: false },
  model_refused: { retryable: false },
  model_parameter_refused: { retryable: false },
  model_cannot_see: { retryable: false },
  model_first_token_timeout: { retryable: true },
  model_stalled: { retryable: true },
  model_interrupted: { retryable: true },
  model_incomplete: { retryable: true },
  model_filtered: { retryable: false },
  model_out_of_tokens: { retryable: false },
  model_bad_response: { retryable: true },
  model_malformed: { retryable: true },
  // memory: none of these fails a turn
  index_unavailable: { retryable: true },
  embedder_unavailable: { retryable: true },
  webhook_unavailable: { retryable: true },
  // the service itself
  storage_unavailable: { retryable: true },
  question_unanswered: { retryable: true },
  turn_cancelled: { retryable: true },
  turn_superseded: { retryable: true },
  turn_interrupted: { retryable: true },
  overloaded: { retryable: true },
  shutting_down: { retryable: true },
  invalid_configuration: { retryable: false },
  internal_error: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

/** A code of ERROR_CODES. */
export type ErrorCode = keyof typeof ERROR_CODES;
