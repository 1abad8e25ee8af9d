import { v7 as uuidv7 } from "uuid";
import type { Recall } from "../memory/recall/recall-episodes.ts";
import type { OwnedConversation } from "../turn/owner.ts";
import type { PromptMessage } from "../stores/postgres/conversations/message-store.ts";
import type { LoadedWindow, NewestMessages, WindowStore } from "../stores/postgres/turns/window-store.ts";
import type { PictureStore } from "../stores/postgres/conversations/picture-store.ts";
import type { EpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import type { Picture } from "../turn/picture.ts";
import type { ConversationState, ConversationUpdate, WindowMessage } from "../turn/state.ts";
import type { Node } from "./node.ts";
import { toConversationSummary } from "../prompt/to-conversation-summary.ts";

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
  const { windows, pictures, historyWindow: atLeast, tokenBudget, useSummary, episodes, scope, foresee } = parts;
  return {
    /** Whether other conversations have episodes to recall. Runs beside the turn's begin, so that the embedder starts early. */
    async lookForEpisodes({ tenantId, userId, sessionId, message }: ConversationState, signal?: AbortSignal): Promise<boolean> {
      if (!episodes) return false;
      const look = await episodes.checkRecallable({ tenantId, userId }, sessionId);
      const elsewhere = look.elsewhere && scope === "user";
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
