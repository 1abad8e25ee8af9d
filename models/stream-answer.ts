import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { type ModelPurpose, NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { makeLoopDetector } from "../text/repeats-itself.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../text/tokens.ts";
import { abortableItems, type AnswerTimeouts, startAnswerDeadlines } from "./deadlines.ts";
import { modelName } from "./model-name.ts";
import { pictureTokensIn } from "./pictured-message.ts";
import { settingsOf, toModelError } from "./model-error.ts";
import { type AskedCall, makeCallCollector, streamChunks } from "./stream-chunks.ts";

/** The observer of a model's calls, and their purpose. */
export interface ModelCallObserver {
  observer: Observer;
  purpose: ModelPurpose;
}

interface CallFacts {
  answer: string;
  /** Without it both counts are estimated. */
  usage: UsageMetadata | undefined;
  firstTokenMs?: number | undefined;
  /** The code of an error that is not thrown. */
  outcome?: string | undefined;
}

/** Runs a model call and reports its facts. Without an observer it counts nothing. */
function observeCall<Result>(
  { observer, purpose }: ModelCallObserver,
  model: BaseChatModel,
  prompt: readonly BaseMessage[],
  call: (learn: (facts: CallFacts) => void) => Promise<Result>,
): Promise<Result> {
  if (observer === NOOP_OBSERVER) return call(() => undefined);
  return observer.watch({ work: "model_call", purpose, model: modelName(model) }, (learn) =>
    call(({ answer, usage, firstTokenMs, outcome }) => {
      const inputTokens =
        usage?.input_tokens ?? prompt.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, pictureTokensIn(prompt));
      learn({
        inputTokens,
        outputTokens: usage?.output_tokens ?? estimateTokens(answer),
        tokensAreEstimated: usage === undefined,
        cachedTokens: usage?.input_token_details?.cache_read ?? 0,
        ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
        ...(outcome === undefined ? {} : { outcome }),
      });
    }),
  );
}

/** Only the finish reason tells a complete answer from a connection that closed early. A page at a wrong address has no chunk. */
function incomplete(purpose: ModelPurpose, model: BaseChatModel, hasChunks: boolean): AppError {
  const what = hasChunks
    ? "model ended its answer without saying that it was complete. Try again."
    : `model's server sent nothing that is part of an answer. Check ${settingsOf(purpose, model).url}, or try again.`;
  return new AppError("model_incomplete", `The ${purpose} ${what}`);
}

/** A model may spend all of its bound on thoughts, which are not shown, or on a call that it does not finish. */
function empty(purpose: string, cut: ModelAnswer["cut"], [unfinished]: readonly AskedCall[]): AppError {
  if (cut === null) return new AppError("model_incomplete", `The ${purpose} model gave an empty answer. Try again.`);
  const where = unfinished ? `in the middle of its call of "${unfinished.name}"` : "before its first word";
  const fix = "Raise MAX_ANSWER_TOKENS, or the request's max_tokens.";
  return new AppError("model_out_of_tokens", `The ${purpose} model used up its tokens ${where}. ${fix}`);
}

export interface WholeAnswerRequest {
  model: BaseChatModel;
  /** The model with its tools. */
  bound: Pick<BaseChatModel, "stream">;
  prompt: BaseMessage[];
  signal: AbortSignal;
  watched: ModelCallObserver;
  onChunk?: () => void;
}

/**
 * One whole answer with its tool calls, streamed so that it can be given up in the middle. One that loops is cut off, without calls. Throws
 * AppError.
 */
export function wholeAnswer({ model, bound, prompt, signal, watched, onChunk }: WholeAnswerRequest): Promise<AIMessageChunk> {
  async function* stream(): AsyncGenerator<AIMessageChunk, void> {
    yield* await bound.stream(prompt, { signal, tags: ["nostream"] }); // Studio would show its words as the answer's
  }
  return observeCall(watched, model, prompt, async (learn) => {
    const loops = makeLoopDetector();
    let whole: AIMessageChunk | undefined;
    let written = "";
    try {
      for await (const chunk of abortableItems(stream(), signal)) {
        onChunk?.();
        whole = whole?.concat(chunk) ?? chunk;
        written += chunk.text + (chunk.tool_call_chunks ?? []).map(({ args }) => args ?? "").join("");
        if (!loops(written)) continue;
        whole = new AIMessageChunk({ content: written, response_metadata: { finish_reason: "length" } });
        break;
      }
    } catch (error) {
      throw toModelError(signal.aborted ? signal.reason : error, {
        purpose: watched.purpose,
        model,
        streaming: whole !== undefined,
        prompt,
      });
    }
    // LangChain closes the braces of arguments that were cut: half an answer would be read as a whole one.
    if (!whole?.response_metadata["finish_reason"]) throw incomplete(watched.purpose, model, whole !== undefined);
    learn({ answer: whole.text + JSON.stringify(whole.tool_calls), usage: whole.usage_metadata });
    return whole;
  });
}

/** Pause before the one retry, in milliseconds. */
const RETRY_DELAY_MS = 250;
/** For models that never stop: about 100 times a long answer. */
const MAX_ANSWER_CHARACTERS = 1_000_000;

export interface AnswerRequest {
  model: BaseChatModel;
  prompt: BaseMessage[];
  timeouts: AnswerTimeouts;
  /** Cancels the call at once; its reason, an AppError, becomes the answer's error. */
  signal?: AbortSignal | undefined;
  callbacks?: Callbacks | undefined;
  messageId?: string | undefined;
  /** Default: nobody. */
  watched?: ModelCallObserver | undefined;
  /** Tools that it may call. Default: none. */
  tools?: BindToolsInput[] | undefined;
  /** What the turn asks of it. Default: as the model is made. */
  modelOptions?: ModelOptions | undefined;
  /** Whether it is asked again when its server fails at once. Default true. */
  retries?: boolean | undefined;
  onToken: (token: string) => void;
  onThought?: ((thought: string) => void) | undefined;
}

/** A model's answer, partial when there is an error. */
export interface ModelAnswer {
  text: string;
  /** In the order in which it asked for them. */
  toolCalls: AskedCall[];
  /** Undefined when the server counted none. */
  usage: UsageMetadata | undefined;
  error: AppError | null;
  /** `length`: the bound of answers or the model's context ended it. */
  cut: "length" | null;
}

async function attemptAnswer(request: AnswerRequest, purpose: ModelPurpose): Promise<ModelAnswer> {
  const { model, prompt, timeouts, signal, callbacks, messageId, tools, modelOptions, onToken, onThought } = request;
  const answer: ModelAnswer = { text: "", toolCalls: [], usage: undefined, error: null, cut: null };
  const calls = makeCallCollector();
  const deadlines = startAnswerDeadlines(timeouts, signal);
  const loops = purpose === "chat" ? () => false : makeLoopDetector();
  let finishReason: unknown;
  let hasChunks = false;
  try {
    const chunks = streamChunks(model, prompt, { signal: deadlines.signal, tools, modelOptions, callbacks, messageId });
    for await (const chunk of abortableItems(chunks, deadlines.signal)) {
      hasChunks = true;
      if (chunk.thought !== undefined || chunk.toolCalls?.length) deadlines.tokenCame();
      if (chunk.thought !== undefined) onThought?.(chunk.thought);
      chunk.toolCalls?.forEach(calls.add);
      const token = chunk.text.replaceAll("\0", "\uFFFD"); // Postgres cannot store NUL, and what is streamed is what is stored
      if (token) {
        deadlines.tokenCame();
        answer.text += token;
        onToken(token);
        if (answer.text.length > MAX_ANSWER_CHARACTERS) break;
      }
      answer.usage = chunk.usage ?? answer.usage;
      finishReason = chunk.finishReason ?? finishReason;
      if (!loops(answer.text)) continue;
      finishReason = "length";
      break;
    }
    if (finishReason === "length") answer.cut = "length";
    else if (finishReason) answer.toolCalls = calls.collected(); // a call that was cut off is none
    if (!finishReason) answer.error = incomplete(purpose, model, hasChunks);
    else if (!answer.text && answer.toolCalls.length === 0) answer.error = empty(purpose, answer.cut, calls.collected());
  } catch (error) {
    // The SDK reports an abort in words of its own.
    const thrown: unknown = deadlines.signal.aborted ? deadlines.signal.reason : error;
    answer.error = toModelError(thrown, { purpose, model, modelOptions, streaming: answer.text !== "", prompt });
  } finally {
    deadlines.clear();
  }
  return answer;
}

function observedAttempt(request: AnswerRequest): Promise<ModelAnswer> {
  const { model, prompt, watched = { observer: NOOP_OBSERVER, purpose: "chat" } } = request;
  return observeCall(watched, model, prompt, async (learn) => {
    const began = performance.now();
    let firstTokenMs: number | undefined;
    const onToken = (token: string): void => {
      firstTokenMs ??= performance.now() - began;
      request.onToken(token);
    };
    const answer = await attemptAnswer({ ...request, onToken }, watched.purpose);
    learn({ answer: answer.text, usage: answer.usage, firstTokenMs, outcome: answer.error?.code });
    return answer;
  });
}

/**
 * Streams a model's answer to `onToken`. Never throws: a failure is in `error`. Retries once when the server failed before the first token.
 */
export async function streamAnswer(request: AnswerRequest): Promise<ModelAnswer> {
  const first = await observedAttempt(request);
  if (
    request.retries === false ||
    first.text !== "" ||
    first.toolCalls.length > 0 ||
    first.cut !== null ||
    (first.error?.code !== "model_unavailable" && first.error?.code !== "model_incomplete")
  )
    return first;
  await sleep(RETRY_DELAY_MS, undefined, { signal: request.signal }).catch(() => undefined);
  return observedAttempt(request);
}
