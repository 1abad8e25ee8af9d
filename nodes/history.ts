import { v7 as uuidv7 } from "uuid";
import type { ConversationState, ConversationUpdate, WindowMessage } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import { estimateTokens } from "../models/estimate-tokens.ts";
import type { MessageStore, StoredMessage } from "../stores/postgres/message-store.ts";
import type { TurnStore } from "../stores/postgres/turn-store.ts";
import { beginTurn } from "./begin-turn.ts";
import { emit } from "./emit.ts";
import type { Node } from "./measured.ts";
import { makeWaitingLine } from "./waiting-line.ts";

export interface HistoryParts {
  turns: TurnStore;
  messages: MessageStore;
  /** How many completed messages the window has at most. */
  windowSize: number;
  /** Milliseconds a turn holds its conversation unless it renews. */
  leaseMs: number;
}

function toWindowMessage({ id, role, content, tokenCount, createdAt }: StoredMessage): WindowMessage {
  return { id, role, content, tokenCount, createdAt: createdAt.toISOString() };
}

/**
 * Gets or creates the conversation, takes it for this turn, stores the user's message and loads the window. The current message is left
 * out of the window by its id. Throws AppError `conversation_busy` or `storage_unavailable`; then nothing is stored and nothing held.
 */
export function makeHistory({ turns, messages, windowSize, leaseMs }: HistoryParts): Node {
  const line = makeWaitingLine();
  return async function history(
    { tenantId, userId, sessionId, message }: ConversationState,
    runtime: TurnRuntime,
  ): Promise<ConversationUpdate> {
    const { context } = runtime;
    const turnId = context?.turnId ?? uuidv7();
    const owner = { tenantId, userId };
    const { conversationId, messageId } = await beginTurn(
      { turns, line },
      { ...owner, sessionId, turnId, leaseMs, message, tokenCount: estimateTokens(message) },
      { onBusy: context?.onBusy ?? "refuse", signal: context?.signal },
    );
    try {
      const window = await messages.window({ ...owner, conversationId, exceptMessageId: messageId, limit: windowSize });
      emit(runtime, { status: "accepted", content: { turn_id: turnId, conversation_id: conversationId, message_id: messageId } });
      return { turnId, conversationId, currentMessageId: messageId, recentMessages: window.map(toWindowMessage) };
    } catch (error) {
      // The message is stored and the run ends here: give the conversation back rather than let the lease run out.
      await turns.finish({ ...owner, conversationId, turnId }, null).catch(() => undefined);
      throw error;
    }
  };
}
