import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { abortableItems, type AnswerTimeouts, startAnswerDeadlines } from "./deadlines.ts";
import { toModelError } from "./model-error.ts";
import { type ModelCallObserver, observeModelCall, UNOBSERVED } from "./observe-model-call.ts";

/** A piece of a streamed answer. */
export interface AnswerChunk {
  text: string;
  usage: UsageMetadata | undefined;
  /** Set by the piece that ends the answer. */
  finishReason: unknown;
}

export interface StreamChunksOptions {
  signal: AbortSignal;
  /** Who listens to this call: a tracer, or Studio's token stream. */
  callbacks?: Callbacks | undefined;
  /** The id under which those who listen hear of the answer. Default: the model's own. */
  messageId?: string | undefined;
}

function isHeard(callbacks: Callbacks | undefined): boolean {
  return callbacks !== undefined && (Array.isArray(callbacks) ? callbacks : callbacks.handlers).length > 0;
}

/** The same model, whose pieces bear this id before anybody hears of them. */
function withMessageId(model: BaseChatModel, messageId: string): BaseChatModel {
  const streamResponseChunks: BaseChatModel["_streamResponseChunks"] = async function* (prompt, options, runManager) {
    for await (const chunk of model._streamResponseChunks(prompt, options)) {
      chunk.message._updateId(messageId);
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  };
  return Object.create(model, { _streamResponseChunks: { value: streamResponseChunks } }) as BaseChatModel;
}

/**
 * The pieces of one model call, as they come. `BaseChatModel.stream` adds every piece to a growing total for its callbacks, which
 * makes up a third of its time (1.6 ms of CPU for 40 tokens); so when nobody listens, the pieces are taken from the method under it.
 */
export async function* streamChunks(
  model: BaseChatModel,
  prompt: BaseMessage[],
  { signal, callbacks, messageId }: StreamChunksOptions,
): AsyncGenerator<AnswerChunk, void> {
  const streamsItself = model._streamResponseChunks !== BaseChatModel.prototype._streamResponseChunks;
  if (!streamsItself || isHeard(callbacks)) {
    const heard = streamsItself && messageId !== undefined ? withMessageId(model, messageId) : model;
    for await (const message of await heard.stream(prompt, callbacks === undefined ? { signal } : { signal, callbacks })) {
      yield { text: message.text, usage: message.usage_metadata, finishReason: message.response_metadata["finish_reason"] };
    }
    return;
  }
  for await (const { text, message, generationInfo } of model._streamResponseChunks(prompt, { signal })) {
    yield { text, usage: (message as AIMessageChunk).usage_metadata, finishReason: generationInfo?.["finish_reason"] };
  }
}

/** Pause before the one retry, in milliseconds. */
const RETRY_DELAY_MS = 250;
/** An answer is cut here, in characters: a model that never stops must not fill the memory. About 100 times a long answer. */
const MAX_ANSWER_CHARACTERS = 1_000_000;

export interface AnswerRequest {
  model: BaseChatModel;
  prompt: BaseMessage[];
  timeouts: AnswerTimeouts;
  /** Cancels the model call at once; its reason, an AppError, becomes the answer's error. */
  signal?: AbortSignal | undefined;
  callbacks?: Callbacks | undefined;
  /** The id of the answer's message, for those who listen. Default: the model's own. */
  messageId?: string | undefined;
  /** Who watches each call. Default: nobody. */
  watched?: ModelCallObserver | undefined;
  onToken: (token: string) => void;
}

/** What came of a model call. With an error, `text` is what had been said until then. */
export interface ModelAnswer {
  text: string;
  /** As counted by the model's server; undefined when it sent none. */
  usage: UsageMetadata | undefined;
  error: AppError | null;
}

/** Postgres cannot store NUL, so it becomes the replacement character here already: what is streamed is what is stored. */
function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

async function attemptAnswer({ model, prompt, timeouts, signal, callbacks, messageId, onToken }: AnswerRequest): Promise<ModelAnswer> {
  const answer: ModelAnswer = { text: "", usage: undefined, error: null };
  const deadlines = startAnswerDeadlines(timeouts, signal);
  let finishReason: unknown;
  try {
    const chunks = streamChunks(model, prompt, { signal: deadlines.signal, callbacks, messageId });
    for await (const chunk of abortableItems(chunks, deadlines.signal)) {
      const token = withoutNul(chunk.text);
      if (token) {
        deadlines.tokenCame();
        answer.text += token;
        onToken(token);
        if (answer.text.length > MAX_ANSWER_CHARACTERS) break;
      }
      answer.usage = chunk.usage ?? answer.usage;
      finishReason = chunk.finishReason ?? finishReason;
    }
    // A connection that is closed early ends the stream like a complete answer: only the finish reason tells.
    if (!finishReason)
      answer.error = new AppError("model_incomplete", "The chat model ended its answer without saying that it was complete. Try again.");
    else if (!answer.text) answer.error = new AppError("model_incomplete", "The chat model gave an empty answer. Try again.");
  } catch (error) {
    // The SDK reports an abort in words of its own; the reason of the abort is what happened.
    answer.error = toModelError(deadlines.signal.aborted ? deadlines.signal.reason : error, answer.text !== "");
  } finally {
    deadlines.clear();
  }
  return answer;
}

/** One call, watched. */
function watchedAttempt(request: AnswerRequest): Promise<ModelAnswer> {
  const { model, prompt, watched = UNOBSERVED } = request;
  return observeModelCall(watched, model, async (learn) => {
    const began = performance.now();
    let firstTokenMs: number | undefined;
    const onToken = (token: string): void => {
      firstTokenMs ??= performance.now() - began;
      request.onToken(token);
    };
    const answer = await attemptAnswer({ ...request, onToken });
    learn({ prompt, answer: answer.text, usage: answer.usage, firstTokenMs, outcome: answer.error?.code });
    return answer;
  });
}

/** Worth a second try at once: nothing was said yet, and the server, not a deadline or the caller, ended it. */
function isWorthRetrying({ text, error }: ModelAnswer): boolean {
  return text === "" && (error?.code === "model_unavailable" || error?.code === "model_incomplete");
}

/** Asks the model and hands on each token as it comes. Never throws: a failure is in `error`. Tries again once, only before the first token. */
export async function streamAnswer(request: AnswerRequest): Promise<ModelAnswer> {
  const first = await watchedAttempt(request);
  if (!isWorthRetrying(first)) return first;
  await sleep(RETRY_DELAY_MS, undefined, { signal: request.signal }).catch(() => undefined);
  return watchedAttempt(request);
}
