import { signal } from "@preact/signals";
import { toApiError } from "../../api/api-error.ts";
import { eraseConversation } from "../../api/endpoints.ts";
import type { Conversation } from "../../api/types.ts";
import { conversationsError, hiddenConversation, loadConversations } from "../conversations/conversations.ts";
import { chatAddress, goTo } from "../page/route.ts";
import { userId } from "../page/settings.ts";
import { beginConversation, conversationId } from "./thread.ts";
import { forgetTurns } from "../turns/turns.ts";

/** Milliseconds to undo. */
const GRACE_MS = 8_000;

interface Deletion {
  conversation: Conversation;
  owner: string;
  wasOpen: boolean;
}

/** The conversation about to be erased: gone from the page, but nothing is erased yet. */
export const deletion = signal<Deletion | null>(null);
let timer: number | undefined;

async function erase({ conversation, owner }: Deletion, isLeaving = false): Promise<void> {
  try {
    await eraseConversation(conversation.id, isLeaving);
    forgetTurns(owner, conversation.session_id);
    await loadConversations();
  } catch (error) {
    conversationsError.value = toApiError(error);
  } finally {
    if (hiddenConversation.value === conversation.id) hiddenConversation.value = null;
  }
}

/** Erases at once what could still be undone. */
export function finishDeletion(isLeaving = false): void {
  clearTimeout(timer);
  const { value: pending } = deletion;
  deletion.value = null;
  if (pending) void erase(pending, isLeaving);
}

/** Erases a conversation unless this is undone within seconds. Leaving the page also erases it. */
export function deleteLater(conversation: Conversation): void {
  finishDeletion();
  const owner = userId.value;
  if (owner === null) return;
  const wasOpen = conversationId.value === conversation.id;
  hiddenConversation.value = conversation.id;
  deletion.value = { conversation, owner, wasOpen };
  if (wasOpen) beginConversation();
  continueDeletion();
}

export function takeBack(): void {
  clearTimeout(timer);
  const { value: pending } = deletion;
  deletion.value = null;
  hiddenConversation.value = null;
  if (pending?.wasOpen) goTo(chatAddress(pending.conversation.id));
}

/** Whoever looks at the undo button has time. */
export const pauseDeletion = (): void => clearTimeout(timer);

export function continueDeletion(): void {
  clearTimeout(timer);
  timer = setTimeout(() => finishDeletion(), GRACE_MS);
}

addEventListener("pagehide", () => finishDeletion(true));
