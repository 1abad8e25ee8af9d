import { computed, signal } from "@preact/signals";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import * as api from "../../api/endpoints.ts";
import type { Conversation, ConversationChanges } from "../../api/types.ts";
import { place } from "../page/route.ts";
import { userId } from "../page/settings.ts";
import { isTemporary } from "../../browser/session-names.ts";

/** The most conversations read to find the one in an address. */
const SEARCHED = 2_000;
const PAGE = 50;
const MOST = 200;
/** Between two looks at what was made elsewhere, in milliseconds. */
const LOOK_MS = 30_000;
const LOST_AFTER_MS = 24 * 3_600_000;

const listed = signal<Conversation[]>([]);
/** All pinned ones, also those of later pages. */
const pinned = signal<Conversation[]>([]);
/** One that is about to be erased. */
export const hiddenConversation = signal<string | null>(null);
/** Pinned ones first, then the newest. */
export const conversations = computed(() => {
  const isPinned = new Set(pinned.value.map(({ id }) => id));
  const inOrder = [...pinned.value, ...listed.value.filter(({ id }) => !isPinned.has(id))];
  return inOrder.filter(isShown);
});
export const isShown = ({ id, session_id }: Conversation): boolean => id !== hiddenConversation.value && !isTemporary(session_id);
export const nextConversations = signal<string | null>(null);
export const conversationsError = signal<ApiError | null>(null);
export const conversationsLoaded = signal(false);
/** The list shows only the archived ones. */
export const showsArchived = signal(false);

export const titleOf = ({ title, session_id }: Conversation): string => title ?? session_id;

/** Temporary, and not erased when its tab was closed. */
const isLost = ({ id, session_id, updated_at }: Conversation): boolean =>
  isTemporary(session_id) && id !== place.value.conversationId && Date.now() - Date.parse(updated_at) > LOST_AFTER_MS;

export async function loadConversations(): Promise<void> {
  const owner = userId.value;
  const archived = showsArchived.value;
  if (owner === null) return;
  try {
    const limit = Math.min(MOST, Math.max(PAGE, listed.value.length));
    const page = await api.listConversations(owner, { archived, limit });
    const all = page.next === null ? page : await api.listConversations(owner, { archived, pinned: true, limit: MOST });
    if (userId.value !== owner || showsArchived.value !== archived) return;
    pinned.value = all.conversations.filter((conversation) => conversation.pinned);
    listed.value = page.conversations;
    for (const { id } of page.conversations.filter(isLost)) void api.eraseConversation(id, false).catch(() => undefined);
    nextConversations.value = page.next;
    conversationsError.value = null;
    conversationsLoaded.value = true;
  } catch (error) {
    conversationsError.value = toApiError(error);
  }
}

/** Reloads when somebody comes back to the page, and now and then while it is seen. */
export function watchConversations(): void {
  const look = (): void => void (document.hidden || loadConversations());
  document.addEventListener("visibilitychange", look);
  addEventListener("focus", look);
  setInterval(look, LOOK_MS);
}

export async function loadMoreConversations(): Promise<void> {
  const owner = userId.value;
  const after = nextConversations.value;
  if (owner === null || after === null) return;
  try {
    const page = await api.listConversations(owner, { after, archived: showsArchived.value });
    if (userId.value !== owner || nextConversations.value !== after) return;
    listed.value = [...listed.value, ...page.conversations];
    nextConversations.value = page.next;
  } catch (error) {
    conversationsError.value = toApiError(error);
  }
}

export function clearConversations(): void {
  listed.value = [];
  pinned.value = [];
  nextConversations.value = null;
  conversationsLoaded.value = false;
  showsArchived.value = false;
}

export function showArchived(shows: boolean): void {
  listed.value = [];
  pinned.value = [];
  nextConversations.value = null;
  showsArchived.value = shows;
  void loadConversations();
}

/** Throws ApiError. */
export async function changeConversation({ id }: Conversation, changes: ConversationChanges): Promise<void> {
  await api.changeConversation(id, changes);
  await loadConversations();
}

/** Reads page by page until it is found, archived or not; null when there is none. Throws ApiError. */
export async function findConversation(id: string): Promise<Conversation | null> {
  const owner = userId.value;
  const isIt = (conversation: Conversation): boolean => conversation.id === id;
  const known = conversations.value.find(isIt);
  if (known || owner === null) return known ?? null;
  let after: string | null = null;
  for (let read = 0; read < SEARCHED;) {
    const page: Awaited<ReturnType<typeof api.listConversations>> = await api.listConversations(owner, {
      after,
      archived: "any",
      limit: 200,
    });
    const found = page.conversations.find(isIt);
    if (found || page.next === null) return found ?? null;
    after = page.next;
    read += page.conversations.length;
  }
  return null;
}
