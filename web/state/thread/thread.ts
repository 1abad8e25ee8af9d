import { batch, computed, effect, signal } from "@preact/signals";
import { ApiError, toApiError } from "../../api/api-error.ts";
import { listMessages, readTurn } from "../../api/endpoints.ts";
import type { Message } from "../../api/types.ts";
import { findConversation } from "../conversations/conversations.ts";
import { isOver, type LiveTurn } from "../turns/live-turn.ts";
import { activeAfter } from "../turns/team.ts";
import { attachmentsOf, toParts } from "./message-parts.ts";
import { chatAddress, goTo, place, renamePlace } from "../page/route.ts";
import { userId } from "../page/settings.ts";
import { nameSession } from "../../browser/session-names.ts";
import { addMessages, clearMessages, isStored, readNewest, showMessages, storedMessages } from "./stored-messages.ts";
import { readTab, writeTab } from "../../browser/tab-storage.ts";
import { texts } from "../../texts/texts.ts";
import { dropStoredTurns, followTurn, liveTurns } from "../turns/turns.ts";

const DRAFT = "session";

/** The shown session, and its conversation once there is one. */
export const sessionId = signal<string>(draftSession());
export const conversationId = signal<string | null>(null);
export const threadError = signal<ApiError | null>(null);
export const threadIsLoading = signal(false);
/** The agent to which the conversation was handed before the turns of this tab. */
const handedTo = signal<string | null>(null);

function draftSession(): string {
  const session = readTab<string>(DRAFT) ?? nameSession();
  writeTab(DRAFT, session);
  return session;
}

/** Gives a draft another session. */
export function renameDraft(session: string): void {
  writeTab(DRAFT, session);
  sessionId.value = session;
}

export const turnsHere = computed(() =>
  liveTurns.value.filter(({ body }) => body.user_id === userId.value && body.session_id === sessionId.value),
);

/** The agent that answers the next turns after a handoff; null: they are routed. */
export const activeAgent = computed(() =>
  turnsHere.value.reduce((active, { body, acts }) => activeAfter(active, body.agent, acts.value), handedTo.value),
);

let older: Message[] = [];

/** Stored messages without this tab's turns: the same list while they are the same. */
export const olderMessages = computed(() => {
  const shown = new Set<string | null>(turnsHere.value.flatMap(({ runIds, turnId }) => [...runIds, turnId.value]));
  const found = storedMessages.value.filter(({ metadata }) => !shown.has(metadata["turn_id"] as string));
  if (found.length !== older.length || found.some((message, index) => message !== older[index])) older = found;
  return older;
});

/** The stored message of a turn of this page. */
export const storedOf = ({ runIds }: LiveTurn, wanted: Message["role"]): Message | undefined =>
  storedMessages.value.findLast(({ role, metadata }) => role === wanted && runIds.has(metadata["turn_id"] as string));

/** Follows the last question when another tab or device is being answered. */
async function followOpenQuestion(owner: string, isWanted: () => boolean): Promise<void> {
  const question = storedMessages.value.at(-1);
  const turnId = question?.role === "user" ? question.metadata["turn_id"] : undefined;
  const isOurs = turnsHere.value.some((turn) => !isOver(turn) || turn.runIds.has(turnId as string));
  if (!question || typeof turnId !== "string" || isOurs) return;
  const stored = await readTurn(turnId).catch(() => null);
  // Done: it was answered meanwhile, or is being answered again.
  if (isWanted() && stored?.state === "done") await refreshThread(place.value.messageId);
  if (!isWanted() || !["running", "waiting"].includes(stored?.state ?? "")) return;
  const message = toParts(question.content, attachmentsOf(question).map(({ url }) => url)); // prettier-ignore
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
      handedTo.value = conversation.active_agent;
    });
    await followOpenQuestion(owner, isWanted);
  } catch (error) {
    if (isWanted()) threadError.value = toApiError(error);
  } finally {
    if (isWanted()) threadIsLoading.value = false;
  }
}

function openDraft(): void {
  batch(() => {
    sessionId.value = draftSession();
    conversationId.value = null;
    handedTo.value = null;
    clearMessages();
  });
  threadError.value = null;
  threadIsLoading.value = false;
}

/** Reloads the shown conversation, as far back as a message, which then comes into view. Throws ApiError. */
export async function refreshThread(sought: string | null = null): Promise<void> {
  const id = conversationId.value;
  const owner = userId.value;
  if (id === null) return;
  const isWanted = (): boolean => conversationId.value === id && userId.value === owner;
  const newest = await readNewest(id, sought, isWanted);
  if (newest === null) return;
  batch(() => {
    showMessages(newest);
    if (place.value.view === "chat") renamePlace(chatAddress(id, sought));
  });
}

/** The looked-up ids of turns; a retry has another. */
const taken = new WeakMap<LiveTurn, string | null>();

/** Gets the ids and versions of a turn's stored messages. A failed replacement may have stored nothing. */
async function takeStored(turn: LiveTurn): Promise<void> {
  const id = conversationId.value;
  if (id === null || taken.get(turn) === turn.turnId.value) return;
  taken.set(turn, turn.turnId.value);
  const { edit_of: editOf, regenerate } = turn.body;
  if (turn.phase.value === "failed" && (editOf ?? regenerate)) return refreshThread();
  const { messages } = await listMessages(id, { after: null, limit: 2 });
  const isIts = ({ metadata }: Message): boolean => turn.runIds.has(metadata["turn_id"] as string);
  if (conversationId.value === id && turnsHere.value.includes(turn)) addMessages(messages.filter(isIts).toReversed());
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

/** Puts a new conversation's id into the address after its first turn. */
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
  effect(() => {
    if (conversationId.value === null) return;
    const ended = turnsHere.value.filter(isOver);
    queueMicrotask(() => void Promise.allSettled(ended.map(takeStored)));
  });
}

export function forgetDraft(session: string): void {
  if (readTab<string>(DRAFT) === session) writeTab(DRAFT, null);
}

export function forgetThread(): void {
  writeTab(DRAFT, null);
  openDraft();
}
