import type { OwnedConversation } from "../../../turn/owner.ts";
import type { StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { storedOutcome } from "../../turns/turn-source.ts";
import { derivedSession } from "../user-and-session.ts";
import { KeptEcho } from "./response-object.ts";

export interface GivenItem {
  id?: string | undefined;
  role: "user" | "assistant";
  content: string;
}

/** More than are posted at once. */
const MOST_KNOWN = 100;

const ofTurn = ({ metadata }: StoredMessage): boolean => metadata["turn_id"] !== undefined;
const isSame = (kept: StoredMessage | undefined, { role, content }: GivenItem): boolean =>
  kept !== undefined && ofTurn(kept) && kept.role === role && kept.content.trim() === content.trim();

/** How many of the first items are the last messages. */
function overlapOf(kept: readonly StoredMessage[], given: readonly GivenItem[]): number {
  const most = Math.min(kept.length, given.length);
  const lengths = Array.from({ length: most }, (_, index) => most - index);
  return lengths.find((length) => given.slice(0, length).every((item, index) => isSame(kept[kept.length - length + index], item))) ?? 0;
}

/**
 * Adds items to a conversation, but for those that turns have stored: sessions of OpenAI's agents SDK post what their run has said, without
 * ids.
 */
export function makeAddItems({
  stores,
  memory,
}: {
  stores: Pick<Stores, "conversations" | "imports" | "messages" | "turns">;
  memory: Memory;
}) {
  const { conversations, messages, imports } = stores;

  /** The messages of another conversation, if these are all it has: a first run knows no conversation, and got one by its first message. */
  async function findStrayed({ tenantId, userId }: OwnedConversation, all: readonly GivenItem[]) {
    const shown = all.map(({ role, content }) => ({ role, text: content, images: [], otherParts: [] }));
    const conversationId = await conversations.findOfSession({ tenantId, userId, ...derivedSession({ messages: shown }) });
    if (conversationId === null) return null;
    const strayed = { tenantId, userId, conversationId };
    const { items } = await messages.list(strayed, { limit: all.length + 1, after: null }, "oldest_first");
    if (items.length !== all.length || !all.every((item, index) => isSame(items[index], item))) return null;
    // Completions have no ids: their next one is found by its first message again.
    const turn = await stores.turns.find({ tenantId, userId }, String(items.at(-1)?.metadata["turn_id"]));
    return KeptEcho.safeParse(turn && storedOutcome(turn)?.asked).success ? { strayed, items } : null;
  }

  return async function addItems(owned: OwnedConversation & { sessionId: string }, given: readonly GivenItem[]): Promise<StoredMessage[]> {
    const { tenantId, userId, sessionId } = owned;
    const { items: newest } = await messages.list(owned, { limit: MOST_KNOWN, after: null }, "newest_first");
    const kept = newest.toReversed();
    if (kept.length <= 1 && !kept.some(ofTurn)) {
      const found = await findStrayed(owned, [...kept, ...given]);
      if (found) {
        const { metadata = {} } = (await conversations.show(owned, owned.conversationId)) ?? {};
        await memory.erase.conversation(owned);
        await conversations.rename(found.strayed, { sessionId, metadata });
        return found.items.slice(kept.length);
      }
    }
    const named = kept.filter(({ id }) => given.some((item) => item.id === id));
    const fresh = given.filter(({ id }) => !named.some((one) => one.id === id));
    const known = overlapOf(kept, fresh);
    const toImport = fresh.slice(known).map(({ role, content }) => ({ role, content, createdAt: null, metadata: {} }));
    const { messageIds } =
      toImport.length > 0 ? await imports.import({ ...owned, messages: toImport, jobKinds: memory.jobKinds }) : { messageIds: [] };
    const added = new Map((await messages.findAll({ tenantId, userId }, messageIds)).map(({ message }) => [message.id, message]));
    return [...named, ...kept.slice(kept.length - known), ...messageIds.flatMap((id) => added.get(id) ?? [])];
  };
}
