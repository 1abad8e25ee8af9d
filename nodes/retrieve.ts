import { toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate, RecalledExchange } from "../graph/state.ts";
import { millisecondsSince } from "../graph/milliseconds-since.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import type { Recall, RecalledEpisode } from "../memory/recall/recall-episodes.ts";
import type { Node } from "./measured.ts";

export interface RetrieveParts {
  recall: Recall;
  /** Episodes in the prompt. */
  topK: number;
  /** Milliseconds for the whole search. */
  timeoutMs: number;
  /** `user`: of all the user's conversations; `conversation`: of this one. */
  scope: "user" | "conversation";
}

function toExchange({
  id,
  score,
  conversationId,
  userMessage,
  assistantMessage,
  messageIds,
  createdAt,
}: RecalledEpisode): RecalledExchange {
  return { id, score, conversationId, userMessage, assistantMessage, messageIds, createdAt: createdAt.toISOString() };
}

/** Whether there is anything to search: a new user's first turns cost no embedding. */
export function needsRetrieval({ error, hasEpisodes }: Pick<ConversationState, "error" | "hasEpisodes">): boolean {
  return error === null && hasEpisodes;
}

/**
 * Recalls the earlier exchanges that fit the message, except those that are in the window. Never fails the turn: what cannot be had within
 * its time is left out, and `degraded` says so.
 */
export function makeRetrieve({ recall, topK, timeoutMs, scope }: RetrieveParts): Node {
  return async function retrieve(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    if (!needsRetrieval(state)) return { retrievalMs: 0 };
    const began = performance.now();
    const { tenantId, userId, conversationId, message, recentMessages } = state;
    const cancelled = runtime.context?.signal;
    const deadline = AbortSignal.timeout(timeoutMs);
    const request = {
      tenantId,
      userId,
      question: message,
      recent: recentMessages,
      conversationId: scope === "conversation" ? conversationId : undefined,
      limit: topK,
      except: new Set(recentMessages.map(({ id }) => id)),
      signal: cancelled ? AbortSignal.any([cancelled, deadline]) : deadline,
    };
    try {
      const { episodes, degraded } = await recall(request);
      return {
        episodicMemory: episodes.map(toExchange),
        retrievalMs: millisecondsSince(began),
        degraded: degraded ? ["episodic"] : [],
      };
    } catch (error) {
      // A throw would end the run here and keep the conversation busy until its lease is over.
      runtime.context?.onError?.(toAppError(error));
      return { retrievalMs: millisecondsSince(began), degraded: ["episodic"] };
    }
  };
}
