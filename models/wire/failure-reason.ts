import type { ErrorCode } from "../../errors/error-codes.ts";
import { type AnsweredError, bodyText } from "./server-words.ts";

/** Servers' words, whatever their status: LiteLLM has 400 for a used-up budget. The first that fits holds. */
const REASONS: readonly [code: ErrorCode, said: RegExp][] = [
  ["model_quota", /credits are depleted/i],
  ["model_rate_limited", /RESOURCE_EXHAUSTED/], // Gemini's limits of a minute, which speak of quotas too
  [
    "model_quota",
    /insufficient_quota|exceeded your current quota|budget_?exceeded|budget has been exceeded|exceeded ?budget|crossed budget|billing_hard_limit|insufficient (?:balance|credits?|funds)/i,
  ],
  [
    "context_too_long",
    /context_length_exceeded|exceed_context_size|ContextWindowExceeded|maximum context length|maximum prompt length|context length is only|maximum model length|exceeds? (?:the )?(?:available |maximum |model's )?context (?:size|window|length|limit)|context size has been exceeded|prompt is too long|exceeds? the (?:configured|maximum) (?:limit|number) of (?:\d+ )?tokens|request too large|longer than the model's context length|exceeded model token limit|input length should be|prompt (?:is )?too long|input is too long|`inputs` tokens \+ `max_new_tokens` must be|loaded with context length of only|超长|input length exceeds|exceed(?:s|ed)? context limit|context window exceeds limit|reduce the length of the (?:messages|input|prompt)|length of prompt_tokens|max_total_tokens \(\d+\) must be|must have less than \d+ tokens|tokens_limit_reached|Max size: \d+ tokens|prompt token count of|greater than the context length|n_keep|exceeds context length|reached context length|too many tokens: total|maximum context length:/i,
  ],
  [
    "model_not_found",
    /model_not_found|model_access_denied|invalid model name|not have access to (?:the )?model|\bmodel\b[^{}]{0,100}(?:does not exist|not found)/i,
  ],
  ["model_filtered", /content_filter|content management policy|ResponsibleAIPolicy|data_inspection_failed|prohibited.?content/i],
  ["model_rate_limited", /rate_limit|rate limit reached|RateLimitError|too many requests/i],
  ["model_unavailable", /overloaded|"UNAVAILABLE"/i],
  ["model_unauthorized", /invalid_api_key|(?:incorrect|invalid) api key|authentication_error/i],
];

const REASON_OF_STATUS: Readonly<Record<number, ErrorCode>> = { 401: "model_unauthorized", 402: "model_quota", 429: "model_rate_limited" };

/** HTTP's status, else the number in the answer, or 0. */
export function statusOf({ status, error }: AnsweredError): number {
  const { code } = (error ?? {}) as { code?: unknown };
  return status ?? (typeof code === "number" ? code : 0);
}

export const isOverload = (status: number): boolean => [408, 409, 425, 429, 498].includes(status) || (status >= 500 && status !== 501);

/** The kind of a failure by the server's words, then by its status, or undefined. */
export function reasonOf(answered: AnsweredError): ErrorCode | undefined {
  const said = bodyText(answered);
  const status = statusOf(answered);
  if (status === 402) return "model_quota";
  return REASONS.find(([, words]) => words.test(said))?.[0] ?? REASON_OF_STATUS[status];
}
