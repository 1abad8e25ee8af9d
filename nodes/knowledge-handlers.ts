import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ConversationState, Passage } from "../turn/state.ts";

/** What a handler of one knowledge base is given to answer a turn. */
export interface KnowledgeHandlerRequest {
  /** The turn so far: the message, the window, the summary, what was recalled, the passages that were found. */
  state: Readonly<ConversationState>;
  tools: {
    /** Passages of this knowledge base for another question, best first. Throws AppError when they cannot be searched. */
    findPassages: (question: string, limit?: number) => Promise<Passage[]>;
    /** The model that answers other turns. */
    chatModel: BaseChatModel;
  };
  /** Sends a piece of the answer to the client as it is made. */
  stream: (token: string) => void;
  /** Aborts when the client leaves, the turn is taken over, or the deadlines of an answer are over. */
  signal: AbortSignal;
}

/** What a handler found out besides what it streamed. */
export interface KnowledgeHandlerAnswer {
  /** Streamed at the end, after what was streamed already. */
  rest?: string;
  /** The passages that the answer rests on, for the receipt. Default: those of the turn. */
  passages?: readonly Passage[];
}

/** Answers the turns that are routed to one knowledge base. When it throws, the general generator answers instead. */
export type KnowledgeHandler = (request: KnowledgeHandlerRequest) => Promise<KnowledgeHandlerAnswer | void>;

/** The handlers of knowledge bases, by the name of the base; of all tenants. */
export interface KnowledgeHandlers {
  /** Puts a handler in the place of the one there was. */
  registerKnowledgeHandler(kbPrefix: string, handler: KnowledgeHandler): void;
  /** Undefined when the base has none: the general generator answers. */
  find(kbPrefix: string): KnowledgeHandler | undefined;
}

/** A table of handlers, empty at first; handlers may be registered while turns run. */
export function makeKnowledgeHandlers(): KnowledgeHandlers {
  const handlers = new Map<string, KnowledgeHandler>();
  return {
    registerKnowledgeHandler: (kbPrefix, handler) => void handlers.set(kbPrefix, handler),
    find: (kbPrefix) => handlers.get(kbPrefix),
  };
}
