import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { type ModelPurpose, NOOP_OBSERVER } from "../observe/observer.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { makeLoopDetector } from "../text/repeats-itself.ts";
import { makeFenceRemover } from "../text/without-fences.ts";
import { abortableItems, type AnswerDeadlines, type AnswerTimeouts, startAnswerDeadlines } from "../turn/deadlines.ts";
import { type ModelCallObserver, observeCall } from "./observe-call.ts";
import { settingsOf, toModelError } from "./model-error.ts";
import { answeredError } from "./wire/server-words.ts";
import { streamDeltas } from "./stream-deltas.ts";
import type { Echo } from "../turn/echo.ts";
import { type AskedCall, makeCallCollector } from "./wire/collect-calls.ts";
import { type Delta, type Finish, isKnownFinish } from "./wire/delta.ts";

/** Only the finish reason tells a complete answer from a connection that closed early. A wrong address sends no chunk. */
function incomplete(purpose: ModelPurpose, model: BaseChatModel, hasChunks: boolean): AppError {
  const what = hasChunks
    ? "model ended its answer without saying that it was complete. Try again."
    : `model's server sent nothing that is part of an answer. Check ${settingsOf(purpose, model).url}, or try again.`;
  return new AppError("model_incomplete", `The ${purpose} ${what}`);
}

/** A model may spend its bound on hidden thoughts, or on an unfinished call. */
function empty(purpose: string, finish: Finish, hasThought: boolean, [unfinished]: readonly AskedCall[]): AppError {
  if (finish === "whole" && !hasThought) return new AppError("model_incomplete", `The ${purpose} model gave an empty answer. Try again.`);
  const where = unfinished ? `in the middle of its call of "${unfinished.name}"` : hasThought ? "in its thoughts" : "before its first word";
  const fix = "Raise MAX_ANSWER_TOKENS, or the request's max_tokens.";
  return new AppError("model_out_of_tokens", `The ${purpose} model used up its tokens ${where}. ${fix}`);
}

/** The error of an answer that is not whole. */
function brokenOff(purpose: string, finish: Finish, word: string): AppError | null {
  if (finish === "filtered")
    return new AppError(
      "model_filtered",
      `The ${purpose} model's server declined to answer: its filter ended the answer (${word}). Put it in other words.`,
    );
  return finish === "failed"
    ? new AppError("model_interrupted", `The ${purpose} model's server broke off its answer (${word}). Try again.`)
    : null;
}

/** Pause before the one retry, in milliseconds, when the server does not name one. */
const RETRY_DELAY_MS = 250;
/** The longest accepted pause. */
const MOST_RETRY_DELAY_MS = 20_000;
/** The longest pause when another model can answer. */
const SHORT_RETRY_DELAY_MS = 1_000;
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
  /** The turn's options. Default: as the model is made. */
  modelOptions?: ModelOptions | undefined;
  /** How long to wait before a second try when the server fails at once. `short`: another model can answer. Default `long`. */
  patience?: "none" | "short" | "long" | undefined;
  /** An answer may be empty. Default false. */
  mayBeEmpty?: boolean | undefined;
  onToken: (token: string) => void;
  onThought?: ((thought: string) => void) | undefined;
}

/** A model's answer, partial when there is an error. */
export interface ModelAnswer {
  text: string;
  /** In the model's order. */
  toolCalls: AskedCall[];
  /** Undefined when the server counted none. */
  usage: UsageMetadata | undefined;
  error: AppError | null;
  /** `length`: the bound of answers or the model's context ended it. */
  cut: "length" | null;
  /** What its server wants back with it. Undefined: nothing. */
  echo?: Echo | undefined;
}

/** Collects the deltas of one answer. */
function makeAnswer({ onToken, onThought }: AnswerRequest, { purpose, observer }: ModelCallObserver, deadlines: AnswerDeadlines) {
  const answer: ModelAnswer = { text: "", toolCalls: [], usage: undefined, error: null, cut: null };
  const calls = makeCallCollector();
  const loops = purpose === "chat" ? () => false : makeLoopDetector();
  let ended: { finish: Finish; word: string } | null = null;
  let written = ""; // of a task, with its calls
  let hasThought = false;
  const fences = makeFenceRemover();

  function say(token: string): void {
    answer.text += token;
    written += token;
    if (token !== "") onToken(token);
  }

  function take(delta: Delta): void {
    switch (delta.type) {
      case "text":
        deadlines.tokenCame();
        // Postgres cannot store NUL, and what is streamed is what is stored.
        return say(fences.take(delta.text.replaceAll("\0", "\uFFFD")));
      case "thought":
        deadlines.tokenCame();
        hasThought ||= delta.text.trim() !== "";
        return onThought?.(delta.text);
      case "retract":
        onThought?.(answer.text);
        hasThought = true;
        answer.text = "";
        return;
      case "call":
        deadlines.tokenCame();
        calls.add(delta);
        written += delta.arguments;
        return;
      case "usage":
        answer.usage = delta.usage;
        return;
      case "echo":
        answer.echo = calls.named(delta.echo);
        return;
      case "alive":
        return deadlines.isAlive();
      case "finish":
        ended = delta;
        if (!isKnownFinish(delta.word)) observer.tell({ happened: "finish_unknown", purpose });
    }
  }

  return {
    answer,
    take,
    /** Too long, or looping: nothing more is read. */
    isEnough(): boolean {
      if (answer.text.length > MAX_ANSWER_CHARACTERS) return true;
      if (!loops(written)) return false;
      ended = { finish: "cut", word: "length" };
      return true;
    },
    /** Why it is not whole. `hasDeltas`: the server sent something. */
    close({ model, mayBeEmpty = false }: AnswerRequest, hasDeltas: boolean): AppError | null {
      say(fences.end());
      if (!ended) return incomplete(purpose, model, hasDeltas);
      const { finish, word } = ended;
      if (finish === "cut") answer.cut = "length";
      else if (finish === "whole") answer.toolCalls = calls.collected(); // a cut-off call is none
      const isEmpty = answer.text === "" && answer.toolCalls.length === 0;
      const mayBe = !isEmpty || (mayBeEmpty && finish === "whole");
      return brokenOff(purpose, finish, word) ?? (mayBe ? null : empty(purpose, finish, hasThought, calls.collected()));
    },
  };
}

async function attemptAnswer(request: AnswerRequest, watched: ModelCallObserver): Promise<ModelAnswer> {
  const { model, prompt, timeouts, callbacks, messageId, tools, modelOptions } = request;
  const deadlines = startAnswerDeadlines(timeouts, request.signal);
  const { signal } = deadlines;
  const made = makeAnswer(request, watched, deadlines);
  let hasDeltas = false;
  let hasBegun = false;
  try {
    const batches = streamDeltas(model, prompt, { signal, tools, modelOptions, callbacks, messageId });
    reading: for await (const batch of abortableItems(batches, signal)) {
      for (const delta of batch) {
        signal.throwIfAborted();
        hasDeltas = true;
        hasBegun ||= delta.type !== "alive";
        made.take(delta);
        if (made.isEnough()) break reading;
      }
    }
    made.answer.error = made.close(request, hasDeltas);
  } catch (error) {
    // A foreign model reports an abort in its own words.
    const thrown: unknown = signal.aborted ? signal.reason : error;
    made.answer.error = toModelError(thrown, { purpose: watched.purpose, model, modelOptions, streaming: hasBegun, prompt });
  } finally {
    deadlines.clear();
  }
  return made.answer;
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
    const answer = await attemptAnswer({ ...request, onToken }, watched);
    learn({
      answer: answer.text + answer.toolCalls.map((call) => call.arguments).join(""),
      usage: answer.usage,
      firstTokenMs,
      outcome: answer.error?.code,
    });
    return answer;
  });
}

/** Failures after which the same request may soon succeed. */
const TRIED_AGAIN: ReadonlySet<string> = new Set(["model_unavailable", "model_incomplete", "model_interrupted", "model_rate_limited"]);

/** Milliseconds until the second try, or null. */
function retryDelay({ patience = "long", timeouts }: AnswerRequest, { error, text, toolCalls, cut }: ModelAnswer): number | null {
  if (patience === "none" || text !== "" || toolCalls.length > 0 || cut !== null || !error || !TRIED_AGAIN.has(error.code)) return null;
  const { retryAfterSeconds: seconds } = error;
  if (patience === "short" && !answeredError(error.cause)) return null; // it may take as long again to find out that nobody is there
  const delay = seconds === undefined ? RETRY_DELAY_MS : seconds * 1_000;
  return delay <= (patience === "short" ? SHORT_RETRY_DELAY_MS : Math.min(MOST_RETRY_DELAY_MS, timeouts.firstTokenMs)) ? delay : null;
}

/**
 * Streams a model's answer to `onToken`. Never throws: a failure is in `error`. Tries again once when the server fails before the first
 * token, after the server's pause, unless that is longer than the first token may take.
 */
export async function streamAnswer(request: AnswerRequest): Promise<ModelAnswer> {
  let hasThought = false;
  const onThought = (thought: string): void => {
    hasThought = true;
    request.onThought?.(thought);
  };
  const first = await observedAttempt({ ...request, onThought });
  const delay = hasThought ? null : retryDelay(request, first);
  if (delay === null) return first;
  await sleep(delay, undefined, { signal: request.signal }).catch(() => undefined);
  return observedAttempt(request);
}

/** One whole answer, which may be empty. Cuts off a looping one. Throws AppError. */
export async function wholeAnswer(request: Omit<AnswerRequest, "onToken" | "patience" | "mayBeEmpty">): Promise<ModelAnswer> {
  const answer = await streamAnswer({ ...request, onToken: () => undefined, patience: "none", mayBeEmpty: true });
  if (answer.error) throw answer.error;
  return answer;
}
