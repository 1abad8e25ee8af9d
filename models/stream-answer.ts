import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { abortableItems, type AnswerTimeouts, startAnswerDeadlines } from "./deadlines.ts";
import { toModelError } from "./model-error.ts";
import { type ModelCallObserver, observeModelCall, UNOBSERVED } from "./observe-model-call.ts";

/** A chunk of a streamed answer. */
export interface AnswerChunk {
  text: string;
  usage: UsageMetadata | undefined;
  /** Set by the last chunk. */
  finishReason: unknown;
}

export interface StreamChunksOptions {
  signal: AbortSignal;
  /** Tracers or Studio's token stream. */
  callbacks?: Callbacks | undefined;
  /** The message id that callbacks see. Default: the model's own. */
  messageId?: string | undefined;
}

function hasHandlers(callbacks: Callbacks | undefined): boolean {
  return callbacks !== undefined && (Array.isArray(callbacks) ? callbacks : callbacks.handlers).length > 0;
}

/** The same model, whose chunks have this id before callbacks see them. */
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
 * Streams the chunks of one model call. Without callbacks it calls `_streamResponseChunks`: `BaseChatModel.stream` also joins all chunks and
 * takes a third longer.
 */
export async function* streamChunks(
  model: BaseChatModel,
  prompt: BaseMessage[],
  { signal, callbacks, messageId }: StreamChunksOptions,
): AsyncGenerator<AnswerChunk, void> {
  const streamsItself = model._streamResponseChunks !== BaseChatModel.prototype._streamResponseChunks;
  if (!streamsItself || hasHandlers(callbacks)) {
    const named = streamsItself && messageId !== undefined ? withMessageId(model, messageId) : model;
    for await (const message of await named.stream(prompt, callbacks === undefined ? { signal } : { signal, callbacks })) {
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
/** Characters at which an answer is cut: about 100 times a long one, for models that never stop. */
const MAX_ANSWER_CHARACTERS = 1_000_000;

export interface AnswerRequest {
  model: BaseChatModel;
  prompt: BaseMessage[];
  timeouts: AnswerTimeouts;
  /** Cancels the call at once; its reason, an AppError, becomes the answer's error. */
  signal?: AbortSignal | undefined;
  callbacks?: Callbacks | undefined;
  /** The message id that callbacks see. Default: the model's own. */
  messageId?: string | undefined;
  /** Watches each call. Default: nobody. */
  watched?: ModelCallObserver | undefined;
  onToken: (token: string) => void;
}

/** A model's answer, partial when there is an error. */
export interface ModelAnswer {
  text: string;
  /** Counted by the model's server; undefined when it sent none. */
  usage: UsageMetadata | undefined;
  error: AppError | null;
}

/** Replaces NUL, which Postgres cannot store: what is streamed is what is stored. */
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
    // Only the finish reason tells a complete answer from a connection that closed early.
    if (!finishReason)
      answer.error = new AppError("model_incomplete", "The chat model ended its answer without saying that it was complete. Try again.");
    else if (!answer.text) answer.error = new AppError("model_incomplete", "The chat model gave an empty answer. Try again.");
  } catch (error) {
    // The SDK reports an abort in words of its own.
    answer.error = toModelError(deadlines.signal.aborted ? deadlines.signal.reason : error, answer.text !== "");
  } finally {
    deadlines.clear();
  }
  return answer;
}

/** One call, reported to the observer. */
function observedAttempt(request: AnswerRequest): Promise<ModelAnswer> {
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

/** True when the server failed before the first token, as opposed to a deadline or the caller. */
function isWorthRetrying({ text, error }: ModelAnswer): boolean {
  return text === "" && (error?.code === "model_unavailable" || error?.code === "model_incomplete");
}

/** Streams a model's answer to `onToken`. Never throws: a failure is in `error`. Retries once, before the first token only. */
export async function streamAnswer(request: AnswerRequest): Promise<ModelAnswer> {
  const first = await observedAttempt(request);
  if (!isWorthRetrying(first)) return first;
  await sleep(RETRY_DELAY_MS, undefined, { signal: request.signal }).catch(() => undefined);
  return observedAttempt(request);
}
