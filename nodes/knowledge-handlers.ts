import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ConversationState, Passage } from "../turn/state.ts";

/** What a handler is given to answer a turn. */
export interface KnowledgeHandlerRequest {
  /** The turn so far: message, window, summary, recalled exchanges and passages. */
  state: Readonly<ConversationState>;
  tools: {
    /** Finds passages of this knowledge base for another question, best first. Throws AppError when that fails. */
    findPassages: (question: string, limit?: number) => Promise<Passage[]>;
    /** The model that answers other turns. */
    chatModel: BaseChatModel;
  };
  /** Sends a piece of the answer to the client. */
  stream: (token: string) => void;
  /** Aborts when the client leaves, the turn is superseded or an answer's deadline is over. */
  signal: AbortSignal;
}

/** What a handler returns besides what it streamed. */
export interface KnowledgeHandlerAnswer {
  /** Streamed at the end. */
  rest?: string;
  /** The passages behind the answer, for the receipt. Default: those of the turn. */
  passages?: readonly Passage[];
}

/** Answers the turns that are routed to one knowledge base. When it throws, the general generator answers instead. */
export type KnowledgeHandler = (request: KnowledgeHandlerRequest) => Promise<KnowledgeHandlerAnswer | void>;

/** The handlers by kb_prefix, for all tenants. */
export interface KnowledgeHandlers {
  /** Registers a handler in place of an earlier one. */
  registerKnowledgeHandler(kbPrefix: string, handler: KnowledgeHandler): void;
  /** The handler of a base; undefined when it has none. */
  find(kbPrefix: string): KnowledgeHandler | undefined;
}

/** Makes an empty table of handlers. They may be registered while turns run. */
export function makeKnowledgeHandlers(): KnowledgeHandlers {
  const handlers = new Map<string, KnowledgeHandler>();
  return {
    registerKnowledgeHandler: (kbPrefix, handler) => void handlers.set(kbPrefix, handler),
    find: (kbPrefix) => handlers.get(kbPrefix),
  };
}
