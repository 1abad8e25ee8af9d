import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate, Passage } from "../turn/state.ts";
import { millisecondsSince } from "../turn/events.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { FindPassages } from "../memory/knowledge/find-passages.ts";
import { abortable, type AnswerTimeouts, startAnswerDeadlines } from "../models/deadlines.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { answerUpdate } from "./answer-update.ts";
import { withLease } from "./turn-lease.ts";
import type { KnowledgeHandler, KnowledgeHandlers } from "./knowledge-handlers.ts";
import type { Node } from "./node.ts";

export interface GenerateKbParts {
  handlers: KnowledgeHandlers;
  /** Answers when a handler fails. */
  generateRag: Node;
  chatModel: BaseChatModel;
  findPassages: FindPassages | null;
  turns: TurnStore;
  leaseMs: number;
  timeouts: AnswerTimeouts;
}

/** The answer of a handler, which is partial when there is an error. */
interface Handled {
  text: string;
  passages: readonly Passage[];
  error: AppError | null;
}

/** Passages that a handler's search finds unless it asks for another number. */
const SEARCH_LIMIT = 4;

/**
 * Has the handler of the turn's knowledge base answer, within the deadlines of an answer, while it holds the conversation. When the handler fails, a
 * notice says so and the general generator continues behind what was streamed. A cancelled turn ends as in generate_rag.
 */
export function makeGenerateKb(parts: GenerateKbParts): Node {
  const { handlers, generateRag, chatModel, findPassages, turns, leaseMs, timeouts } = parts;

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
      if (token === "" || signal.aborted) return; // ignore a handler that goes on after its end
      deadlines.tokenCame();
      const whole = token.replaceAll("\0", "\uFFFD");
      handled.text += whole;
      emit(runtime, { status: "token", content: whole });
    };
    const findMore = async (question: string, limit = SEARCH_LIMIT): Promise<Passage[]> => {
      const { tenantId, kbPrefix: prefix } = state;
      const found = findPassages && (await findPassages({ tenantId, prefix, question, by: "hybrid", limit, signal }));
      if (!found || (found.degraded && found.passages.length === 0))
        throw new AppError("index_unavailable", "The documents cannot be searched at the moment. Try again in a few seconds.");
      return found.passages.map(({ id, documentId, title, heading, text, score }) => ({ id, documentId, title, heading, text, score }));
    };
    try {
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
    if (!handler || state.error) return generateRag(state, runtime);
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
      const content = {
        code: "handler_failed" as const,
        message: `The handler of "${state.kbPrefix}" failed; the general answer takes its place.`,
      };
      emit(runtime, { status: "notice", content });
      const update = await generateRag(state, runtime);
      const { answer = "", answerMessageId } = update as Partial<ConversationState>;
      return { ...update, ...answerUpdate(state, answerMessageId ?? uuidv7(), said + answer) };
    }
    const tokens = estimateTokens(text);
    return {
      ...answerUpdate(state, uuidv7(), text),
      usage: { prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens, estimated: true },
      receipt: {
        summary: null,
        window_messages: 0,
        core_memory: [],
        episodes: [],
        passages: passages.map(({ id, documentId, title, score }) => ({ id, document_id: documentId, title, score })),
        prompt_tokens: null,
      },
      partialAnswer: error !== null,
      error: error?.toContent() ?? null,
    };
  };
}
