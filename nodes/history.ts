import { v7 as uuidv7 } from "uuid";
import { toAppError } from "../errors/app-error.ts";
import type { ConversationState, ConversationSummary, ConversationUpdate, WindowMessage } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import type { Recall } from "../memory/recall/recall-episodes.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { EpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import type { StoredSummary } from "../stores/postgres/memory/summary-store.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import type { PromptMessage } from "../stores/postgres/conversations/conversation-store.ts";
import type { LoadedWindow, WindowStore } from "../stores/postgres/conversations/window-store.ts";
import { beginTurn, makeKeyedQueue } from "./acquire-conversation.ts";
import { retryWhileUnreachable, withLease } from "./turn-lease.ts";
import type { Node } from "./node.ts";

export interface HistoryParts {
  turns: TurnStore;
  windows: WindowStore;
  /** Least number of completed messages in the window; those that no summary covers come on top. */
  historyWindow: number;
  tokenBudget: number;
  useSummary: boolean;
  /** Null: the layer is off. */
  episodes: Pick<EpisodeStore, "checkRecallable"> | null;
  /** Recalls from all conversations of the user, or from this one only. */
  scope: "user" | "conversation";
  /** Embeds the message early when a search will follow. */
  foresee?: Recall["foresee"];
  leaseMs: number;
}

function toWindowMessage({ id, role, content, tokenCount, createdAt }: PromptMessage): WindowMessage {
  return { id, role, content, tokenCount, createdAt: createdAt.toISOString() };
}

function toConversationSummary({ text, version, coveredMessageCount, coveredThrough }: StoredSummary): ConversationSummary {
  const { createdAt, id } = coveredThrough;
  return { text, version, coveredMessageCount, coveredThrough: { createdAt: createdAt.toISOString(), messageId: id } };
}

/**
 * Takes the conversation for this turn, stores the user's message unless an earlier attempt of the same key has, and loads the summary with the
 * window behind it. Throws AppError `conversation_busy` or `storage_unavailable`; then nothing is stored or held.
 */
export function makeHistory(parts: HistoryParts): Node {
  const { turns, windows, historyWindow, tokenBudget, useSummary, episodes, scope, foresee, leaseMs } = parts;
  const line = makeKeyedQueue();

  /** Whether other conversations have episodes to recall. Runs beside the begin of the turn, so that the embedder starts early. */
  async function lookForEpisodes({ tenantId, userId, sessionId, message }: ConversationState, signal?: AbortSignal): Promise<boolean> {
    if (!episodes) return false;
    const look = await episodes.checkRecallable({ tenantId, userId }, sessionId);
    const elsewhere = look.elsewhere && scope === "user";
    if (elsewhere || (useSummary && look.isSummarised)) foresee?.(message, signal);
    return elsewhere;
  }

  return async function history(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, sessionId, message } = state;
    const { context } = runtime;
    const turnId = context?.turnId ?? uuidv7();
    const owner = { tenantId, userId };
    const looking = lookForEpisodes(state, context?.signal);
    looking.catch(() => undefined); // awaited below, when the turn has begun
    const { conversationId, messageId } = await beginTurn(
      { turns, line },
      { ...owner, sessionId, turnId, leaseMs, message, tokenCount: estimateTokens(message), key: context?.key },
      { onBusy: context?.onBusy ?? "refuse", signal: context?.signal },
    );
    const conversation = { ...owner, conversationId };
    const held = { ...conversation, turnId };
    let isRetry = false;
    const load = (): Promise<[LoadedWindow, boolean]> => {
      const look = isRetry ? lookForEpisodes(state, context?.signal) : looking;
      isRetry = true;
      const window = { ...conversation, exceptMessageId: messageId, atLeast: historyWindow, maxTokens: tokenBudget, useSummary };
      return Promise.all([windows.load(window), look]);
    };
    try {
      const [{ summary, messages, isWhole, lastErasure }, hasOtherEpisodes] = await withLease(
        { turns, leaseMs },
        held,
        context?.signal,
        (signal) => retryWhileUnreachable(load, signal),
      );
      runtime.note?.({
        window_messages: messages.length,
        window_is_whole: isWhole,
        summary_version: summary?.version ?? null,
        has_other_episodes: hasOtherEpisodes,
      });
      emit(runtime, { status: "accepted", content: { turn_id: turnId, conversation_id: conversationId, message_id: messageId } });
      return {
        turnId,
        conversationId,
        currentMessageId: messageId,
        recentMessages: messages.map(toWindowMessage),
        windowIsWhole: isWhole,
        lastErasure,
        conversationSummary: summary && toConversationSummary(summary),
        // Of this conversation only what is older than the window can be recalled.
        hasEpisodes: episodes !== null && (hasOtherEpisodes || summary !== null || !isWhole),
      };
    } catch (error) {
      // The message is stored and the run ends here: release the conversation at once.
      const outcome = failedTurnOutcome(toAppError(error).toContent(), context?.progress?.());
      await retryWhileUnreachable(() => turns.finish(held, null, [], outcome)).catch(() => undefined);
      throw error;
    }
  };
}
