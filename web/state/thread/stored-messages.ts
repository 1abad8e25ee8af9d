import { computed, signal } from "@preact/signals";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listMessages } from "../../api/endpoints.ts";
import type { Message } from "../../api/types.ts";

const PAGE = 100;
const SEARCH_PAGE = 200;
/** The most messages read to find the one in an address. */
const SEARCHED = 4_000;

/** The newest messages, oldest first. `next` lists those before them. */
export interface NewestMessages {
  messages: Message[];
  next: string | null;
  /** The sought message is older. */
  isFarBack: boolean;
}

const NONE: NewestMessages = { messages: [], next: null, isFarBack: false };

const shown = signal(NONE);
export const storedMessages = computed(() => shown.value.messages);
export const hasEarlier = computed(() => shown.value.next !== null);
export const soughtIsFarBack = computed(() => shown.value.isFarBack);
export const earlierIsLoading = signal(false);
export const earlierError = signal<ApiError | null>(null);

export const isStored = (messageId: string): boolean => storedMessages.value.some(({ id }) => id === messageId);

/** Reads the newest messages, and older ones until `sought` is among them. Null when no longer wanted. */
export async function readNewest(conversationId: string, sought: string | null, isWanted: () => boolean): Promise<NewestMessages | null> {
  const messages: Message[] = [];
  const isFound = (): boolean => sought === null || messages.some(({ id }) => id === sought);
  let next: string | null = null;
  do {
    const page = await listMessages(conversationId, { after: next, limit: sought === null ? PAGE : SEARCH_PAGE });
    if (!isWanted()) return null;
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && !isFound() && messages.length < SEARCHED);
  return { messages: messages.toReversed(), next, isFarBack: next !== null && !isFound() };
}

export function showMessages(newest: NewestMessages): void {
  shown.value = newest;
  earlierIsLoading.value = false;
  earlierError.value = null;
}

/** Takes a message and all after it off the page. */
export function cutFrom(messageId: string): void {
  const { messages } = shown.value;
  const index = messages.findIndex(({ id }) => id === messageId);
  if (index >= 0) shown.value = { ...shown.value, messages: messages.slice(0, index) };
}

/** Adds what a turn of this page has stored. */
export function addMessages(newest: readonly Message[]): void {
  const fresh = newest.filter(({ id }) => !isStored(id));
  if (fresh.length > 0) shown.value = { ...shown.value, messages: [...shown.value.messages, ...fresh] };
}

export const clearMessages = (): void => showMessages(NONE);

/** Shows a page of older messages above the others, which may have grown meanwhile. `beforeShown` is called when it is loaded. */
export async function loadEarlier(conversationId: string, beforeShown: () => void): Promise<void> {
  const { next } = shown.value;
  if (next === null || earlierIsLoading.value) return;
  earlierIsLoading.value = true;
  earlierError.value = null;
  try {
    const page = await listMessages(conversationId, { after: next, limit: PAGE });
    if (shown.value.next !== next) return;
    beforeShown();
    shown.value = { ...shown.value, messages: [...page.messages.toReversed(), ...shown.value.messages], next: page.next };
  } catch (error) {
    if (shown.value.next === next) earlierError.value = toApiError(error);
  } finally {
    earlierIsLoading.value = false;
  }
}
