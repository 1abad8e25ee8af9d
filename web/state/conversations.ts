import { signal } from "@preact/signals";
import { toApiError, type ApiError } from "../api/api-error.ts";
import { listConversations } from "../api/endpoints.ts";
import type { Conversation } from "../api/types.ts";
import { userId } from "./settings.ts";

export const conversations = signal<Conversation[]>([]);
export const nextConversations = signal<string | null>(null);
export const conversationsError = signal<ApiError | null>(null);
export const conversationsLoaded = signal(false);

export async function loadConversations(): Promise<void> {
  const owner = userId.value;
  if (owner === null) return;
  try {
    const page = await listConversations(owner, null);
    if (userId.value !== owner) return;
    conversations.value = page.conversations;
    nextConversations.value = page.next;
    conversationsError.value = null;
    conversationsLoaded.value = true;
  } catch (error) {
    conversationsError.value = toApiError(error);
  }
}

export async function loadMoreConversations(): Promise<void> {
  const owner = userId.value;
  const after = nextConversations.value;
  if (owner === null || after === null) return;
  try {
    const page = await listConversations(owner, after);
    if (userId.value !== owner || nextConversations.value !== after) return;
    conversations.value = [...conversations.value, ...page.conversations];
    nextConversations.value = page.next;
  } catch (error) {
    conversationsError.value = toApiError(error);
  }
}

export function clearConversations(): void {
  conversations.value = [];
  nextConversations.value = null;
  conversationsLoaded.value = false;
}

/** Reads page by page until it is found; null when the user has no such conversation. */
export async function findConversation(id: string): Promise<Conversation | null> {
  const found = (): Conversation | undefined => conversations.value.find((listed) => listed.id === id);
  if (!conversationsLoaded.value || !found()) await loadConversations();
  if (conversationsError.value) throw conversationsError.value;
  while (!found() && nextConversations.value !== null) {
    await loadMoreConversations();
    if (conversationsError.value) throw conversationsError.value;
  }
  return found() ?? null;
}
