import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { ContinuedAnswer, ConversationState, ConversationUpdate, WindowMessage } from "../turn/state.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { shareOf } from "../models/facts/prompt-budget.ts";
import { estimateTokens } from "../text/tokens.ts";
import { wordsWithPictures, type Picture } from "../turn/picture.ts";
import type { QuestionStore } from "../stores/postgres/agents/question-store.ts";
import type { TurnRecordStore } from "../stores/postgres/turns/turn-record-store.ts";
import { isTakingBack } from "../turn/turn-input.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { beginTurn, makeKeyedQueue } from "./take-turn.ts";
import { retryWhileUnreachable, withLease } from "../stores/postgres/turns/turn-lease.ts";
import type { BegunTurn, ContinuedAnswer as StoredAnswer } from "../stores/postgres/turns/recover-turn.ts";
import type { Recall } from "../memory/recall/recall-episodes.ts";
import type { OwnedConversation } from "../turn/owner.ts";
import type { PromptMessage } from "../stores/postgres/conversations/message-store.ts";
import type { LoadedWindow, NewestMessages, WindowStore } from "../stores/postgres/turns/window-store.ts";
import type { PictureStore } from "../stores/postgres/conversations/picture-store.ts";
import type { EpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import { toConversationSummary } from "../prompt/make-room.ts";

export interface LoadHistoryParts {
  windows: WindowStore;
  pictures: Pick<PictureStore, "ofMessages">;
  /** The least completed messages in the window; all that no summary covers are added. */
  historyWindow: number;
  /** The most tokens of a prompt; null: the service's own model's. */
  tokenBudget: (model: string | null) => number;
  useSummary: boolean;
  /** Null: the layer is off. */
  episodes: Pick<EpisodeStore, "checkRecallable"> | null;
  /** Recalls from all conversations of the user, or from this one only. */
  scope: "user" | "conversation";
  /** Embeds the message early when a search will follow. */
  foresee?: Recall["foresee"];
  /** Indexes early what other conversations said in the last seconds. */
  catchUp?: Recall["catchUp"];
}

export interface LoadedHistory extends LoadedWindow {
  /** By message: of the window's last turns and, if not given, of the current one. */
  pictures: ReadonlyMap<string, Picture[]>;
  hasOtherEpisodes: boolean;
}

function toWindowMessage({ id, role, content, tokenCount, createdAt }: PromptMessage, pictures: LoadedHistory["pictures"]): WindowMessage {
  const shown = pictures.get(id);
  return { id, role, content, tokenCount, createdAt: createdAt.toISOString(), ...(shown ? { pictures: shown } : {}) };
}

/** The turns of the window whose pictures are sent again. */
const TURNS_WITH_PICTURES = 2;

/** The most bytes of a prompt's pictures. Models' servers take little more in one request. */
const MOST_BYTES = 20 * 1024 * 1024;

/** Messages whose pictures the model sees again. */
function withPictures(messages: readonly PromptMessage[]): string[] {
  const asked = messages.filter(({ role }) => role === "user").slice(-TURNS_WITH_PICTURES);
  return asked.filter(({ pictureCount }) => pictureCount > 0).map(({ id }) => id);
}

/** Loads what a turn knows of its conversation. */
export function makeLoadHistory(parts: LoadHistoryParts) {
  const { windows, pictures, historyWindow: atLeast, tokenBudget, useSummary, episodes, scope, foresee, catchUp } = parts;
  return {
    /** Whether other conversations have episodes to recall. Runs beside the turn's begin, so that the embedder starts early. */
    async lookForEpisodes({ tenantId, userId, sessionId, message }: ConversationState, signal?: AbortSignal): Promise<boolean> {
      if (!episodes) return false;
      const look = await episodes.checkRecallable({ tenantId, userId }, sessionId);
      const elsewhere = (look.elsewhere || look.waiting.length > 0) && scope === "user";
      if (message !== "" && elsewhere) catchUp?.({ tenantId, userId }, look.waiting);
      if (message !== "" && (elsewhere || (useSummary && look.isSummarised))) foresee?.(message, signal);
      return elsewhere;
    },

    /** `newest`: the already known window. `isStored`: the current message and its pictures were stored before this turn. */
    async load(
      {
        model,
        isStored = false,
        ...conversation
      }: OwnedConversation & { exceptMessageId: string; model: string | null; isStored?: boolean },
      look: Promise<boolean>,
      newest?: NewestMessages,
    ): Promise<LoadedHistory> {
      const request = { ...conversation, atLeast, maxTokens: tokenBudget(model), useSummary };
      const [window, hasOtherEpisodes] = await Promise.all([windows.load(request, newest), look]);
      const shown = [...withPictures(window.messages), ...(isStored ? [conversation.exceptMessageId] : [])];
      const loaded = shown.length === 0 ? new Map<string, Picture[]>() : await pictures.ofMessages(conversation, shown, MOST_BYTES);
      return { ...window, hasOtherEpisodes, pictures: loaded };
    },
  };
}

/** The state's fields. The window lacks the continued answer and empty ones. */
export function toHistory(
  { summary, messages, isWhole, lastErasure, hasOtherEpisodes, pictures }: LoadedHistory,
  usesEpisodes: boolean,
  continuedId?: string,
) {
  return {
    recentMessages: messages
      .filter(({ id, role, content }) => id !== continuedId && (role === "user" || content.trim() !== ""))
      .map((message) => toWindowMessage(message, pictures)),
    windowIsWhole: isWhole,
    lastErasure,
    conversationSummary: summary && toConversationSummary(summary),
    // Only messages before the window can be recalled from this conversation.
    hasEpisodes: usesEpisodes && (hasOtherEpisodes || summary !== null || !isWhole),
  } satisfies ConversationUpdate;
}

/** Reads as `history` does, from the caller's `conversationId`, without taking the conversation or adding a message. */
export function makeReadHistory(parts: LoadHistoryParts): Node {
  const loader = makeLoadHistory(parts);
  return async function readHistory(state: ConversationState, { context }): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId } = state;
    const currentMessageId = uuidv7(); // of no stored message
    const conversation = { tenantId, userId, conversationId, exceptMessageId: currentMessageId, model: state.requestedModel };
    const loaded = await loader.load(conversation, loader.lookForEpisodes(state, context?.signal));
    return { currentMessageId, ...toHistory(loaded, parts.episodes !== null) };
  };
}

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
    const held = { ...conversation, turnId, runner: context?.resumed?.runner ?? null };
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
