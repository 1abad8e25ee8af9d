import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate, Passage } from "../turn/state.ts";
import { NO_CONTEXT } from "../turn/usage.ts";
import { millisecondsSince } from "../turn/events.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import type { FindPassages } from "../memory/documents/find-passages.ts";
import { type ChooseModels, firstChoice } from "../models/model-choice.ts";
import { abortable, type AnswerTimeouts, startAnswerDeadlines } from "../turn/deadlines.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { answerUpdate } from "./answer-update.ts";
import { withLease } from "../stores/postgres/turns/turn-lease.ts";
import { receiptPassages } from "../prompt/assemble-prompt.ts";
import { toPassage } from "./retrieve.ts";

/** What a handler is given to answer a turn. */
export interface KnowledgeHandlerRequest {
  /** The turn so far. */
  state: Readonly<ConversationState>;
  tools: {
    /** Finds passages of this knowledge base for another question, best first. Throws AppError. */
    findPassages: (question: string, limit?: number) => Promise<Passage[]>;
    /** The model that answers other turns. */
    chatModel: BaseChatModel;
  };
  stream: (token: string) => void;
  /** Aborts when the client leaves, the turn is superseded or an answer's deadline is over. */
  signal: AbortSignal;
}

/** What a handler returns besides what it streamed. */
export interface KnowledgeHandlerAnswer {
  /** Streamed at the end. */
  rest?: string;
  /** The passages behind the answer, for the receipt. Default: the turn's. */
  passages?: readonly Passage[];
}

/** Answers the turns of one knowledge base. The general generator answers when it throws. */
export type KnowledgeHandler = (request: KnowledgeHandlerRequest) => Promise<KnowledgeHandlerAnswer | void>;

/** The handlers by kb_prefix, for all tenants. */
export interface KnowledgeHandlers {
  registerKnowledgeHandler(kbPrefix: string, handler: KnowledgeHandler): void;
  find(kbPrefix: string): KnowledgeHandler | undefined;
}

/** Handlers by kb_prefix: what a module for KB_HANDLERS exports by default. */
export type KnowledgeHandlersByPrefix = Readonly<Record<string, KnowledgeHandler>>;

/** Makes a table of handlers, empty without `byPrefix`. More may be registered while turns run. */
export function makeKnowledgeHandlers(byPrefix: KnowledgeHandlersByPrefix = {}): KnowledgeHandlers {
  const handlers = new Map(Object.entries(byPrefix));
  return {
    registerKnowledgeHandler: (kbPrefix, handler) => void handlers.set(kbPrefix, handler),
    find: (kbPrefix) => handlers.get(kbPrefix),
  };
}

export interface GenerateKbParts {
  handlers: KnowledgeHandlers;
  generate: Node;
  chooseModels: ChooseModels;
  findPassages: FindPassages | null;
  /** The default number of passages that a handler finds. */
  passages: number;
  turns: TurnStore;
  leaseMs: number;
  timeouts: AnswerTimeouts;
}

interface Handled {
  text: string;
  passages: readonly Passage[];
  error: AppError | null;
}

/**
 * Has the handler of the turn's knowledge base answer. If it fails, a notice says so and the general generator continues what was streamed.
 * A cancelled turn ends as in generate.
 */
export function makeGenerateKb(parts: GenerateKbParts): Node {
  const { handlers, generate, chooseModels, findPassages, passages: most, turns, leaseMs, timeouts } = parts;

  async function handle(
    handler: KnowledgeHandler,
    state: ConversationState,
    runtime: TurnRuntime,
    turnSignal: AbortSignal,
  ): Promise<Handled> {
    const deadlines = startAnswerDeadlines(timeouts, turnSignal);
    const { signal } = deadlines;
    const handled: Handled = { text: "", passages: state.retrievalResults, error: null };
    const stream = (token: string): void => {
      if (token === "" || signal.aborted) return; // ignores a handler that goes on after its end
      deadlines.tokenCame();
      const whole = token.replaceAll("\0", "\uFFFD");
      handled.text += whole;
      emit(runtime, { status: "token", content: whole });
    };
    const findMore = async (question: string, limit = most): Promise<Passage[]> => {
      const { tenantId, kbPrefix: prefix } = state;
      const found = findPassages && (await findPassages({ tenantId, prefix, question, by: "hybrid", limit, signal }));
      if (!found || (found.degraded && found.passages.length === 0))
        throw new AppError("index_unavailable", "The documents cannot be searched at the moment. Try again in a few seconds.");
      return found.passages.map(toPassage);
    };
    try {
      const { model: chatModel } = firstChoice(chooseModels({ model: state.requestedModel, agent: null }));
      const request = { state, tools: { findPassages: findMore, chatModel }, stream, signal };
      const answer = await abortable(async () => handler(request), signal);
      if (answer?.rest) stream(answer.rest);
      if (answer?.passages) handled.passages = answer.passages;
      if (handled.text === "") throw new AppError("model_incomplete", "The handler of this knowledge base gave an empty answer.");
    } catch (error) {
      handled.error = toAppError(signal.aborted ? signal.reason : error);
    } finally {
      deadlines.clear();
    }
    return handled;
  }

  return async function generateKb(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const handler = handlers.find(state.kbPrefix);
    if (!handler || state.error) return generate(state, runtime);
    const { tenantId, userId, conversationId, turnId } = state;
    const began = performance.now();
    let isCancelled = false;
    const { text, passages, error } = await withLease(
      { turns, leaseMs },
      { tenantId, userId, conversationId, turnId },
      runtime.context?.signal,
      async (signal) => {
        const handled = await handle(handler, state, runtime, signal);
        isCancelled = signal.aborted;
        return handled;
      },
    );
    runtime.note?.({ handler: state.kbPrefix, handler_ms: millisecondsSince(began), error: error?.code ?? null });
    if (error) runtime.context?.onError?.(error);
    if (error && !isCancelled) {
      const said = text === "" ? "" : `${text}\n\n`;
      if (said) emit(runtime, { status: "token", content: "\n\n" });
      const notice = `The handler of "${state.kbPrefix}" failed; the general answer takes its place.`;
      emit(runtime, { status: "notice", content: { code: "handler_failed", message: notice } });
      const update = await generate(state, runtime);
      const { answer = "", answerMessageId } = update as Partial<ConversationState>;
      return { ...update, ...answerUpdate(state, answerMessageId ?? turnId, said + answer) };
    }
    const tokens = estimateTokens(text);
    return {
      ...answerUpdate(state, turnId, text),
      usage: { ...NO_CONTEXT, prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens, estimated: true },
      receipt: {
        summary: null,
        window_messages: 0,
        core_memory: [],
        episodes: [],
        passages: receiptPassages(passages),
        prompt_tokens: null,
      },
      partialAnswer: error !== null,
      error: error?.toContent() ?? null,
    };
  };
}
