import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { ContinuedAnswer, ConversationState, ConversationUpdate } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { shareOf } from "../models/facts/prompt-budget.ts";
import { estimateTokens } from "../text/tokens.ts";
import { wordsWithPictures } from "../turn/picture.ts";
import type { QuestionStore } from "../stores/postgres/agents/question-store.ts";
import type { TurnRecordStore } from "../stores/postgres/turns/turn-record-store.ts";
import { isTakingBack } from "../stores/postgres/turns/branch-turn.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { type LoadedHistory, type LoadHistoryParts, makeLoadHistory, toHistory } from "./load-history.ts";
import { beginTurn, makeKeyedQueue } from "./take-turn.ts";
import { retryWhileUnreachable, withLease } from "../stores/postgres/turns/turn-lease.ts";
import type { Node } from "./node.ts";
import type { BegunTurn, ContinuedAnswer as StoredAnswer } from "../stores/postgres/turns/recover-turn.ts";

export interface HistoryParts extends LoadHistoryParts {
  turns: TurnStore;
  records: Pick<TurnRecordStore, "interrupt">;
  questions: Pick<QuestionStore, "waitingIn" | "cancel">;
  /** Core memory of a turn on a new branch. */
  followedCoreMemory?: Node | undefined;
  leaseMs: number;
}

/** `isReplaced`: the new answer takes its place. */
function toContinued({ answerId, text, completed, citations }: StoredAnswer, isReplaced: boolean): ContinuedAnswer {
  return isReplaced ? { answerId, text: "", completed: false, citations: [] } : { answerId, text, completed, citations };
}

/**
 * Takes the conversation, stores the user's message unless an earlier attempt has, and loads the summary with the window after it. A turn
 * that continues or repeats an answer stores no message. Throws AppError `conversation_busy`, `invalid_request`, `not_found` or
 * `storage_unavailable`; then nothing is stored or held.
 */
export function makeHistory(parts: HistoryParts): Node {
  const { turns, records, questions, historyWindow, useSummary, episodes, followedCoreMemory, leaseMs } = parts;
  const loader = makeLoadHistory(parts);
  const line = makeKeyedQueue();

  return async function history(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, message, pictures, callResults } = state;
    const { context } = runtime;
    const turnId = context?.turnId ?? uuidv7();
    const looking = loader.lookForEpisodes(state, context?.signal);
    looking.catch(() => undefined); // awaited below, when the turn has begun
    const tokenCount = estimateTokens(wordsWithPictures(message, pictures.length));
    const toBegin = { ...state, turnId, leaseMs, tokenCount, key: context?.key };
    if (!state.store && isTakingBack(state)) throw AppError.invalid([{ field: "store", problem: "a turn on a new branch is stored" }]);
    const options = { onBusy: context?.onBusy ?? "refuse", signal: context?.signal, window: { atLeast: historyWindow, useSummary } };
    // A resumed turn has stored its message, and holds its conversation.
    const begun = context?.resumed ?? (await beginTurn({ turns, records, questions, line }, toBegin, options));
    const { conversationId, messageId, newest, continued, question, lastPrompt }: BegunTurn = begun;
    const conversation = { tenantId, userId, conversationId };
    const held = { ...conversation, turnId };
    let isRetry = false;
    const loadOnce = (): Promise<LoadedHistory> => {
      const look = isRetry ? loader.lookForEpisodes(state, context?.signal) : looking;
      isRetry = true;
      const isStored = context?.resumed !== undefined || continued !== undefined || Boolean(state.regenerate ?? state.again);
      return loader.load({ ...conversation, exceptMessageId: messageId, model: state.requestedModel, isStored }, look, newest ?? undefined);
    };
    try {
      const loaded = await withLease({ turns, leaseMs }, held, context?.signal, (signal) => retryWhileUnreachable(loadOnce, signal));
      const { summary, messages, isWhole, hasOtherEpisodes } = loaded;
      const ofMessage = loaded.pictures.get(messageId);
      const followed = isTakingBack(state) ? await followedCoreMemory?.(state, runtime) : undefined;
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
        lastUsageRatio: lastPrompt ? shareOf(lastPrompt.tokens, lastPrompt.limit) : 0,
        ...(question === undefined ? {} : { message: question }),
        ...(continued ? { message: continued.question, continued: toContinued(continued, callResults !== null) } : {}),
        ...(ofMessage ? { pictures: ofMessage } : {}),
        ...followed,
        ...toHistory(loaded, episodes !== null, (continued ?? state.continued)?.answerId),
      };
    } catch (error) {
      // The message is stored and the run ends here: release the conversation at once.
      const outcome = failedTurnOutcome(toAppError(error).toContent(), context?.progress?.());
      await retryWhileUnreachable(() => turns.finish(held, null, [], outcome)).catch(() => undefined);
      throw error;
    }
  };
}
