import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { AppError } from "../errors/app-error.ts";
import type { ErrorCode } from "../errors/error-codes.ts";
import { withCauses } from "../errors/with-causes.ts";
import type { ModelPurpose } from "../observe/observer.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { hasPictures } from "./wire/pictured-message.ts";
import { type AnsweredError, answeredError, bodyText, serverWords } from "./wire/server-words.ts";
import { readRetryAfter } from "./wire/server-failure.ts";
import { isOverload, reasonOf, statusOf } from "./wire/failure-reason.ts";

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

const settingsNamed = (model: string): ModelSettings => ({ ...CHAT_SETTINGS, model });

const SETTINGS: Partial<Record<ModelPurpose, ModelSettings>> = {
  summary: settingsNamed("SUMMARY_MODEL"),
  router: settingsNamed("ROUTER_MODEL"),
  memory: settingsNamed("MEMORY_MODEL"),
};

const named = new WeakMap<BaseChatModel, ModelSettings>();

/** Marks a model that other settings configure than the service's own. */
export const nameSettings = (model: BaseChatModel, settings: ModelSettings): void => void named.set(model, settings);

export const settingsOf = (purpose: ModelPurpose, model: BaseChatModel | undefined): ModelSettings =>
  (model && named.get(model)) ?? SETTINGS[purpose] ?? CHAT_SETTINGS;

/** A failed call. `streaming`: the answer had begun. */
export interface FailedCall {
  purpose: ModelPurpose;
  model?: BaseChatModel | undefined;
  modelOptions?: ModelOptions | undefined;
  streaming: boolean;
  /** What was sent, so that no word of it gets into the log. */
  prompt: readonly BaseMessage[];
}

/** Servers' words about pictures for a blind model, whatever their status. */
const BLIND =
  /image input|image_url|multi-?modal|(?:support|accept|process|handle)s? (?:for )?(?:images?|vision|pictures)|images? (?:inputs? )?(?:is|are) not supported|0 image\(s\)|no vision|content must be a string/i;
/** Servers' words about a picture that they cannot read or get. */
const WRONG_PICTURE =
  /invalid[ _](?:image|base64)|unsupported image|(?:process|decode|load|open|read|parse) (?:the )?image|image (?:is )?too (?:large|small|big)|image_parse|image exceeds|(?:download|fetch|retriev)\w* .{0,80}(?:image|url|https)/i;

const REFUSED_STATUS: ReadonlySet<number> = new Set([400, 404, 415, 422, 500, 501]);

/** A server's complaint about the prompt's pictures; null for any other reason or without pictures. */
function reasonOfPictures(answered: AnsweredError, prompt: readonly BaseMessage[]): "model_cannot_see" | "picture" | null {
  if (!hasPictures(prompt) || !REFUSED_STATUS.has(statusOf(answered))) return null;
  const said = bodyText(answered);
  if (WRONG_PICTURE.test(said)) return "picture";
  return BLIND.test(said) ? "model_cannot_see" : null;
}

/** The turn's option that a server names in its refusal. */
function refusedOption(answered: AnsweredError, options: ModelOptions | undefined): string | null {
  const status = statusOf(answered);
  if (options === undefined || (status !== 400 && status !== 422)) return null;
  const { param } = (answered.error ?? {}) as { param?: unknown };
  const said = bodyText(answered);
  const isNamed = (name: string): boolean => param === name || new RegExp(`\\b${name}\\b`).test(said);
  const names = Object.entries(options).flatMap(([name, value]) => (value === undefined || name === "stream" ? [] : [name]));
  return names.find((name) => isNamed(name) || (name === "max_tokens" && isNamed("max_completion_tokens"))) ?? null;
}

const isPage = ({ error, message }: AnsweredError): boolean => error === undefined && /^\s*</.test(message);

/** Only these are about the sent content. */
const QUOTED_STATUS = new Set([400, 413, 415, 422]);
const saying = (said: string | undefined): string => (said ? ` and says "${said}"` : "");

/** Fields of requests that a server may name in its refusal. */
const FIELDS = [
  "messages",
  "tools",
  "tool_choice",
  "response_format",
  "temperature",
  "top_p",
  "max_tokens",
  "max_completion_tokens",
  "stop",
  "seed",
  "stream",
  "stream_options",
  "parallel_tool_calls",
  "presence_penalty",
  "frequency_penalty",
  "reasoning_effort",
];

function aboutFields(answered: AnsweredError): string {
  const words = bodyText(answered);
  const named = FIELDS.filter((name) => new RegExp(`(?<!\\w)${name}(?!\\w)`).test(words));
  return named.length === 0 ? "" : `It may be about ${named.join(", ")}. `;
}

/** The time that the server named for a retry. */
function retryAfterOf(cause: unknown): { retryAfterSeconds: number } | undefined {
  const seconds = withCauses(cause)
    .map((one) => ("retryAfterSeconds" in one ? one.retryAfterSeconds : "headers" in one ? readRetryAfter(one.headers) : undefined))
    .find((one) => typeof one === "number");
  return seconds === undefined ? undefined : { retryAfterSeconds: seconds };
}

/** What failed and what to do, for people. A server's words are quoted when nothing else tells what is wrong; the log has all. */
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
    new AppError(code, `${subject} ${what}`, { cause, serverWords: said, ...retryAfterOf(cause) });

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
    case "model_filtered":
      return failed("model_filtered", "has a filter that declined the prompt. Put the message in other words.");
    case "model_unavailable":
      return failed("model_unavailable", "is overloaded. Try again in a while.");
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
  if (answered && !streaming) {
    const status = statusOf(answered);
    if (isOverload(status)) return failed("model_unavailable", `answered with status ${status}. Try again in a while.`);
    if (isPage(answered))
      return failed("model_refused", `answered with a page and status ${status}: a proxy may stand before it. Check ${settings.url}.`);
    if (status === 401 || status === 403)
      return failed(
        "model_refused",
        `refused the request with status ${status}. Check ${settings.key}, ${settings.url} and ${settings.model}.`,
      );
    if (status >= 400)
      return failed(
        "model_refused",
        `refused the request with status ${status}${QUOTED_STATUS.has(status) ? saying(said) : ""}. ${aboutFields(answered)}Check ${settings.url} and ${settings.model}.`,
      );
  }
  if (isConnectionTrouble(cause)) {
    if (!streaming) return failed("model_unavailable", `cannot be reached. Check ${settings.url}, or try again in a while.`);
    return failed("model_interrupted", "broke in the middle of the answer. Try again.", `The connection to the ${who} model`);
  }
  if (answered) return failed("model_bad_response", "broke off its answer with an error. Try again; the log has its words.");
  if (streaming) return failed("model_bad_response", "sent something that is not part of an answer. Try again.");
  return failed("model_bad_response", `sent something that is not an answer. Check ${settings.url}, or try again.`);
}
