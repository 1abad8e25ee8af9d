import { batch, computed, effect, signal } from "@preact/signals";
import { ApiError, toApiError } from "../api/api-error.ts";
import { readTurn } from "../api/endpoints.ts";
import { randomId } from "../random-id.ts";
import { findConversation } from "./conversations.ts";
import { isOver } from "./live-turn.ts";
import { chatAddress, goTo, place, renamePlace } from "./route.ts";
import { userId } from "./settings.ts";
import { clearMessages, isStored, readNewest, showMessages, storedMessages } from "./stored-messages.ts";
import { readTab, writeTab } from "./tab-storage.ts";
import { texts } from "../texts/texts.ts";
import { dropStoredTurns, followTurn, liveTurns } from "./turns.ts";

const DRAFT = "session";

/** The shown session, and its conversation once there is one. */
export const sessionId = signal<string>(draftSession());
export const conversationId = signal<string | null>(null);
export const threadError = signal<ApiError | null>(null);
export const threadIsLoading = signal(false);

function draftSession(): string {
  const kept = readTab<string>(DRAFT);
  if (kept !== null) return kept;
  const fresh = `web-${randomId()}`;
  writeTab(DRAFT, fresh);
  return fresh;
}

export const turnsHere = computed(() =>
  liveTurns.value.filter(({ body }) => body.user_id === userId.value && body.session_id === sessionId.value),
);

/** Stored messages but for those of this tab's turns. */
export const olderMessages = computed(() => {
  const shown = new Set<string | null>(turnsHere.value.flatMap(({ runIds, turnId }) => [...runIds, turnId.value]));
  return storedMessages.value.filter(({ metadata }) => !shown.has(metadata["turn_id"] as string));
});

/** Follows the last question when another tab or device is being answered. */
async function followOpenQuestion(owner: string, isWanted: () => boolean): Promise<void> {
  const question = storedMessages.value.at(-1);
  const turnId = question?.role === "user" ? question.metadata["turn_id"] : undefined;
  const isOurs = turnsHere.value.some((turn) => !isOver(turn) || turn.runIds.has(turnId as string));
  if (!question || typeof turnId !== "string" || isOurs) return;
  const stored = await readTurn(turnId).catch(() => null);
  if (!isWanted() || !["running", "waiting", "done"].includes(stored?.state ?? "")) return;
  const { content: message } = question;
  const body = { user_id: owner, session_id: sessionId.value, message, kb_prefix: null } as const;
  followTurn({ ...body, agent_type: null, on_disconnect: "continue", interactive: true }, question, turnId);
}

/** Shows a conversation, as far back as the message in the address. */
async function open(id: string): Promise<void> {
  const owner = userId.value;
  const { messageId: sought } = place.value;
  const isWanted = (): boolean => place.value.conversationId === id && place.value.messageId === sought && userId.value === owner;
  if (owner === null || (conversationId.value === id && (sought === null || isStored(sought)))) return;
  threadIsLoading.value = true;
  threadError.value = null;
  try {
    const conversation = await findConversation(id);
    if (!isWanted()) return;
    if (!conversation) {
      openDraft();
      threadError.value = new ApiError(404, "not_found", texts.value.conversations.unknown);
      renamePlace(chatAddress());
      return;
    }
    const newest = await readNewest(id, sought, isWanted);
    if (newest === null) return;
    batch(() => {
      dropStoredTurns(owner, conversation.session_id);
      showMessages(newest);
      sessionId.value = conversation.session_id;
      conversationId.value = id;
    });
    await followOpenQuestion(owner, isWanted);
  } catch (error) {
    if (isWanted()) threadError.value = toApiError(error);
  } finally {
    if (isWanted()) threadIsLoading.value = false;
  }
}

function openDraft(): void {
  sessionId.value = draftSession();
  conversationId.value = null;
  clearMessages();
  threadError.value = null;
  threadIsLoading.value = false;
}

export function reloadThread(): void {
  const { conversationId: id } = place.value;
  conversationId.value = null;
  if (id !== null) void open(id);
  else openDraft();
}

export function beginConversation(): void {
  writeTab(DRAFT, null);
  goTo(chatAddress());
  openDraft();
}

/** Puts the id of a new conversation into the address, after its first turn. */
function adopt(id: string): void {
  writeTab(DRAFT, null);
  conversationId.value = id;
  renamePlace(chatAddress(id));
}

export function followPlace(): void {
  effect(() => {
    const { view, conversationId: wanted } = place.value;
    const owner = userId.value;
    if (view !== "chat" || owner === null) return;
    queueMicrotask(() => (wanted === null ? conversationId.value !== null && openDraft() : void open(wanted)));
  });
  effect(() => {
    if (conversationId.value !== null || place.value.view !== "chat" || place.value.conversationId !== null) return;
    const found = turnsHere.value.filter(isOver).map(({ result }) => result.value?.conversation_id)[0];
    if (found) queueMicrotask(() => adopt(found));
  });
}

export function forgetThread(): void {
  writeTab(DRAFT, null);
  openDraft();
}
