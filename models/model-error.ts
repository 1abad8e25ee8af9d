import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { AppError } from "../errors/app-error.ts";
import type { ErrorCode } from "../errors/error-codes.ts";
import { withCauses } from "../errors/with-causes.ts";
import type { ModelPurpose } from "../observe/observer.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { hasPictures } from "./pictured-message.ts";
import { type AnsweredError, answeredError, bodyText, serverWords } from "./server-words.ts";

/** HTTP statuses of requests that may succeed a moment later. */
const TRANSIENT_STATUS = new Set([408, 409, 425, 500, 502, 503, 504]);

/** What servers say, whatever their status: LiteLLM has 400 for a used-up budget. The first that fits holds. */
const REASONS: readonly [code: ErrorCode, said: RegExp][] = [
  [
    "model_quota",
    /insufficient_quota|exceeded your current quota|budget_?exceeded|budget has been exceeded|exceeded ?budget|crossed budget|billing_hard_limit|insufficient (?:balance|credits?|funds)/i,
  ],
  [
    "context_too_long",
    /context_length_exceeded|exceed_context_size|ContextWindowExceeded|maximum context length|context length is only|maximum model length|exceeds? (?:the )?(?:available |maximum |model's )?context (?:size|window|length|limit)|context size has been exceeded|prompt is too long|exceeds? the (?:configured|maximum) (?:limit|number) of (?:\d+ )?tokens|request too large|longer than the model's context length|exceeded model token limit|input length should be|prompt (?:is )?too long|input is too long|`inputs` tokens \+ `max_new_tokens` must be|loaded with context length of only/i,
  ],
  [
    "model_not_found",
    /model_not_found|model_access_denied|invalid model name|not have access to (?:the )?model|\bmodel\b[^{}]{0,100}(?:does not exist|not found)/i,
  ],
  ["model_rate_limited", /rate_limit|rate limit reached|RateLimitError/i],
  ["model_unauthorized", /invalid_api_key|(?:incorrect|invalid) api key|authentication_error/i],
];

const REASON_OF_STATUS: Readonly<Record<number, ErrorCode>> = { 401: "model_unauthorized", 402: "model_quota", 429: "model_rate_limited" };

/** Within a stream some servers (llama.cpp, OpenRouter) have the status as a number in `error.code`; 0 for others. */
function codeOf({ error }: AnsweredError): number {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : 0;
}

function reasonOf(answered: AnsweredError): ErrorCode | undefined {
  const said = bodyText(answered);
  const status = answered.status ?? codeOf(answered);
  return REASONS.find(([, words]) => words.test(said))?.[0] ?? REASON_OF_STATUS[status];
}

function isConnectionTrouble(error: unknown): boolean {
  return withCauses(error).some((cause) => {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    if (/^(?:API)?ConnectionError$/.test(cause.name) || /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|UND_ERR)/.test(code)) return true;
    return cause.name === "TypeError" && /fetch failed|terminated/.test(cause.message);
  });
}

/** Names of settings, for people. */
export interface ModelSettings {
  model: string;
  url: string;
  key: string;
}

const CHAT_SETTINGS: ModelSettings = { model: "CHAT_MODEL", url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY" };

const settingsNamed = (task: string): ModelSettings => ({
  model: `${task}_MODEL`,
  url: `${task}_BASE_URL (without it OPENAI_BASE_URL)`,
  key: `${task}_API_KEY (without it OPENAI_API_KEY)`,
});

const SETTINGS: Partial<Record<ModelPurpose, ModelSettings>> = {
  summary: settingsNamed("SUMMARY"),
  router: settingsNamed("ROUTER"),
  memory: settingsNamed("MEMORY"),
};

const named = new WeakMap<BaseChatModel, ModelSettings>();

/** This model is set elsewhere than the service's own. */
export const nameSettings = (model: BaseChatModel, settings: ModelSettings): void => void named.set(model, settings);

export const settingsOf = (purpose: ModelPurpose, model: BaseChatModel | undefined): ModelSettings =>
  (model && named.get(model)) ?? SETTINGS[purpose] ?? CHAT_SETTINGS;

/** A call that failed. `streaming`: the answer had begun. */
export interface FailedCall {
  purpose: ModelPurpose;
  model?: BaseChatModel | undefined;
  /** What the turn asked for. */
  modelOptions?: ModelOptions | undefined;
  streaming: boolean;
  /** What was sent, so that no word of it gets into the log. */
  prompt: readonly BaseMessage[];
}

/** What servers say of pictures for a model without eyes, whatever their status. */
const BLIND =
  /image input|image_url|multi-?modal|(?:support|accept|process|handle)s? (?:for )?(?:images?|vision|pictures)|images? (?:inputs? )?(?:is|are) not supported|0 image\(s\)|no vision|content must be a string/i;
/** And of a picture that they cannot read or get. */
const WRONG_PICTURE =
  /invalid[ _](?:image|base64)|unsupported image|(?:process|decode|load|open|read|parse) (?:the )?image|image (?:is )?too (?:large|small|big)|image_parse|image exceeds|(?:download|fetch|retriev)\w* .{0,80}(?:image|url|https)/i;

const REFUSED_STATUS: ReadonlySet<number> = new Set([400, 404, 415, 422, 500, 501]);

/** What a server has against the pictures of a prompt; null without any, and for another reason. */
function reasonOfPictures(answered: AnsweredError, prompt: readonly BaseMessage[]): "model_cannot_see" | "picture" | null {
  if (!hasPictures(prompt) || !REFUSED_STATUS.has(answered.status ?? codeOf(answered))) return null;
  const said = bodyText(answered);
  if (WRONG_PICTURE.test(said)) return "picture";
  return BLIND.test(said) ? "model_cannot_see" : null;
}

/** The option of the turn that a server names in its refusal. */
function refusedOption(answered: AnsweredError, options: ModelOptions | undefined): string | null {
  const status = answered.status ?? codeOf(answered);
  if (options === undefined || (status !== 400 && status !== 422)) return null;
  const { param } = (answered.error ?? {}) as { param?: unknown };
  const said = bodyText(answered);
  const isNamed = (name: string): boolean => param === name || new RegExp(`\\b${name}\\b`).test(said);
  const names = Object.entries(options).flatMap(([name, value]) => (value === undefined || name === "stream" ? [] : [name]));
  return names.find((name) => isNamed(name) || (name === "max_tokens" && isNamed("max_completion_tokens"))) ?? null;
}

/** What failed and what to do, for people; the server's own words are for the log. */
export function toModelError(cause: unknown, { purpose, model, modelOptions, streaming, prompt }: FailedCall): AppError {
  if (cause instanceof AppError) return cause;
  const settings = settingsOf(purpose, model);
  const who = purpose in SETTINGS ? purpose : "chat";
  const answered = answeredError(cause);
  const said =
    answered &&
    serverWords(
      answered,
      prompt.map(({ text }) => text),
    );
  const failed = (code: ErrorCode, what: string, subject = `The ${who} model's server`): AppError =>
    new AppError(code, `${subject} ${what}`, { cause, serverWords: said });

  switch (answered && reasonOf(answered)) {
    case "context_too_long":
      return failed(
        "context_too_long",
        "has no room for so long a prompt with its answer. Send a shorter message or begin a new conversation; its operator can lower CONTEXT_TOKEN_BUDGET or MAX_ANSWER_TOKENS, or give the model a larger context.",
      );
    case "model_quota":
      return failed("model_quota", "says that its quota or credit is used up. It works again when that is raised or renewed there.");
    case "model_not_found":
      return failed("model_not_found", `has no such model, or its key may not use it. Check ${settings.model}.`);
    case "model_unauthorized":
      return failed("model_unauthorized", `does not accept the key. Check ${settings.key}.`);
    case "model_rate_limited":
      return failed("model_rate_limited", "limits requests at the moment. Try again in a while.");
  }
  const ofPictures = answered ? reasonOfPictures(answered, prompt) : null;
  if (ofPictures === "model_cannot_see") return failed("model_cannot_see", "takes no pictures. Send words alone, or choose another model.");
  if (ofPictures === "picture")
    return failed(
      "model_parameter_refused",
      "refuses a picture: it cannot be read there, is too large or cannot be got. Send another one.",
    );
  const option = answered ? refusedOption(answered, modelOptions) : null;
  if (option !== null)
    return failed("model_parameter_refused", `refuses ${option} as the request has it. Leave it out, change it, or choose another model.`);
  const status = answered?.status;
  if (status !== undefined && TRANSIENT_STATUS.has(status))
    return failed("model_unavailable", `answered with status ${status}. Try again in a while.`);
  if (status !== undefined && status >= 400)
    return failed(
      "model_refused",
      `refused the request with status ${status}. Check ${settings.key}, ${settings.url} and ${settings.model}.`,
    );
  if (isConnectionTrouble(cause)) {
    if (!streaming) return failed("model_unavailable", `cannot be reached. Check ${settings.url}, or try again in a while.`);
    return failed("model_interrupted", "broke in the middle of the answer. Try again.", `The connection to the ${who} model`);
  }
  if (answered) return failed("model_bad_response", "broke off its answer with an error. Try again; the log has its words.");
  if (streaming) return failed("model_bad_response", "sent something that is not part of an answer. Try again.");
  return failed("model_bad_response", `sent something that is not an answer. Check ${settings.url}, or try again.`);
}
