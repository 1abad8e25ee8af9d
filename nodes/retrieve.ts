import { toAppError } from "../errors/app-error.ts";
import {
  type ConversationState,
  type ConversationUpdate,
  type Layer,
  type Passage,
  type RecalledExchange,
  looksOnly,
} from "../turn/state.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { TurnRuntime, Node } from "../turn/context.ts";
import type { FindPassages } from "../memory/documents/find-passages.ts";
import type { Recall, Recalled } from "../memory/recall/recall-episodes.ts";
import type { TurnRecordStore } from "../stores/postgres/turns/turn-record-store.ts";
import type { RewriteQuestion } from "../memory/recall/rewrite-question.ts";
import { abortable, startDeadline } from "../turn/deadlines.ts";

export interface RetrieveParts {
  recall: Recall;
  /** Of a turn that goes on. The ids of answers are those of their turns. */
  turns: Pick<TurnRecordStore, "endedSince">;
  findPassages: FindPassages | null;
  /** Asks a model what a question points at, where rules do not find it. */
  rewrite?: RewriteQuestion | null;
  /** The least recalled exchanges in the prompt, if so many fit. */
  topK: number;
  /** Of recalled exchanges and their neighbours. */
  episodeTokens: number;
  passages: number;
  /** Milliseconds to search, and again to load. */
  timeoutMs: number;
  scope: "user" | "conversation";
}

/** The recalled exchanges and their neighbours, what is worth most first. */
function toExchanges({ episodes, order }: Recalled): RecalledExchange[] {
  const besides = episodes.flatMap(({ neighbours, conversationId, score }) =>
    neighbours.map((neighbour) => ({ ...neighbour, conversationId, score, similarity: null })),
  );
  const exchanges = [...episodes, ...besides].map(
    ({ id, score, similarity, conversationId, userMessage, assistantMessage, messageIds, createdAt }) => {
      return { id, score, similarity, conversationId, userMessage, assistantMessage, messageIds, createdAt: createdAt.toISOString() };
    },
  );
  const byId = new Map(exchanges.map((exchange) => [exchange.id, exchange]));
  return order.flatMap((id) => byId.get(id) ?? []);
}

/** The part of a found passage that prompt and receipt need. */
export function toPassage({ id, documentId, title, heading, text, score }: Passage): Passage {
  return { id, documentId, title, heading, text, score };
}

/**
 * Recalls exchanges outside the window, and finds passages of the turn's knowledge base. If that fails or is too slow, the turn goes on,
 * and `degraded` names the layer.
 */
export function makeRetrieve({
  recall,
  turns,
  findPassages,
  rewrite,
  topK,
  episodeTokens,
  passages,
  timeoutMs,
  scope,
}: RetrieveParts): Node {
  /** A turn that goes on does not read what was answered after it began: its model is to see what it saw. */
  async function asItBegan(exchanges: RecalledExchange[], { context }: TurnRuntime): Promise<RecalledExchange[]> {
    const resumed = context?.resumed;
    if (!resumed || exchanges.length === 0) return exchanges;
    const later = new Set(
      await turns.endedSince(
        resumed,
        resumed.turnId,
        exchanges.flatMap(({ messageIds }) => messageIds),
      ),
    );
    return exchanges.filter(({ messageIds }) => !messageIds.some((id) => later.has(id)));
  }

  return async function retrieve(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    // A new user's first turns cost no embedding, and a picture without words asks for nothing.
    const usesEpisodes = state.hasEpisodes && state.agent?.memory.episodic !== false;
    if (state.error || state.message === "" || !(usesEpisodes || state.useRetrieval)) {
      runtime.note?.({ searched: false });
      return { episodicMemory: [], retrievalResults: [], retrievalMs: 0 };
    }
    const began = performance.now();
    const { tenantId, userId, conversationId, message, recentMessages } = state;
    const asked = rewrite ? await rewrite(message, recentMessages, runtime.context?.signal) : message;
    using deadline = startDeadline(timeoutMs, runtime.context?.signal);
    const question = { tenantId, question: asked, recent: recentMessages, signal: deadline.signal };

    const searchEpisodes = async (): Promise<ConversationUpdate> => {
      if (!usesEpisodes) return {};
      const recalled = await recall({
        ...question,
        userId,
        conversationId: scope === "conversation" ? conversationId : undefined,
        limit: topK,
        tokens: episodeTokens,
        isCaughtUp: true,
        except: new Set([state.currentMessageId, ...recentMessages.map(({ id }) => id)]),
      });
      const { episodes, degraded } = recalled;
      runtime.note?.({ episodes: episodes.length, episodes_ms: millisecondsSince(began), episodes_degraded: degraded });
      return { episodicMemory: await asItBegan(toExchanges(recalled), runtime), degraded: degraded ? ["episodic"] : [] };
    };
    const searchDocuments = async (): Promise<ConversationUpdate> => {
      if (!state.useRetrieval) return {};
      if (!findPassages) return looksOnly(state) ? {} : { degraded: ["knowledge"] };
      const by = state.agentType === "naive_rag_agent" ? "vectors" : "hybrid";
      const found = await findPassages({ ...question, prefix: state.kbPrefix, by, limit: passages });
      runtime.note?.({ passages: found.passages.length, passages_ms: millisecondsSince(began), passages_degraded: found.degraded });
      return { retrievalResults: found.passages.map(toPassage), degraded: found.degraded ? ["knowledge"] : [] };
    };
    using readDeadline = startDeadline(2 * timeoutMs, runtime.context?.signal);
    /** A throw would end the run and leave the conversation busy. */
    const safely = (layer: Layer, search: () => Promise<ConversationUpdate>): Promise<ConversationUpdate> =>
      abortable(search, readDeadline.signal).catch((error: unknown) => {
        runtime.context?.onError?.(toAppError(error));
        return { degraded: [layer] };
      });
    const [episodes, documents] = await Promise.all([safely("episodic", searchEpisodes), safely("knowledge", searchDocuments)]);
    return {
      episodicMemory: [],
      retrievalResults: [],
      ...episodes,
      ...documents,
      degraded: [episodes, documents].flatMap(({ degraded = [] }) => degraded as Layer[]),
      retrievalMs: millisecondsSince(began),
    };
  };
}
