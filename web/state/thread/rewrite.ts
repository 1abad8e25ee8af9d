import { batch } from "@preact/signals";
import { activateBranch } from "../../api/endpoints.ts";
import type { BranchBody } from "../../api/types.ts";
import { loadConversations } from "../conversations/conversations.ts";
import { isBeingAnswered, say } from "./say.ts";
import { userId } from "../page/settings.ts";
import { cutFrom, readNewest, showMessages } from "./stored-messages.ts";
import { conversationId, refreshThread, sessionId } from "./thread.ts";
import { forgetTurns } from "../turns/turns.ts";
import type { Said } from "./message-parts.ts";

/** Sends a turn that replaces everything shown from a message on. */
async function rewriteFrom(messageId: string, send: () => void): Promise<void> {
  const [id, session, owner] = [conversationId.value, sessionId.value, userId.value];
  if (id === null || owner === null || isBeingAnswered()) return;
  const isWanted = (): boolean => conversationId.value === id && userId.value === owner;
  const newest = await readNewest(id, messageId, isWanted);
  if (newest === null || isBeingAnswered()) return;
  batch(() => {
    forgetTurns(owner, session);
    showMessages(newest);
    send(); // the choices are read from what is shown
    cutFrom(messageId);
  });
}

/** Asks a question in other words, on a new branch. Throws ApiError. */
export const editQuestion = (messageId: string, message: Said): Promise<void> =>
  rewriteFrom(messageId, () => say({ message, edit_of: messageId }));

/** Has an answer given again, on a new branch. Throws ApiError. */
export const regenerateAnswer = (messageId: string): Promise<void> => rewriteFrom(messageId, () => say({ regenerate: messageId }));

/** Shows the newly active branch. Throws ApiError. */
export async function showActiveBranch(sought: string | null = null): Promise<void> {
  if (userId.value !== null) forgetTurns(userId.value, sessionId.value);
  await Promise.all([refreshThread(sought), loadConversations()]);
}

/** Shows another branch, and lets memory follow. Throws ApiError. */
export async function switchBranch(to: BranchBody): Promise<void> {
  const id = conversationId.value;
  if (id === null) return;
  await activateBranch(id, to);
  if (conversationId.value === id) await showActiveBranch(to.message_id);
}
