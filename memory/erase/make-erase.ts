import { setTimeout as sleep } from "node:timers/promises";
import type { Owner } from "../../stores/owner.ts";
import type { Erased } from "../../stores/postgres/erase-pair.ts";
import type { LeftInIndex } from "../../stores/postgres/erase-marks.ts";
import type { ErasedRows, EraseStore } from "../../stores/postgres/erase-store.ts";
import type { OwnedConversation } from "../../stores/postgres/summary-store.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";

/** What an erase took, of each kind. */
export interface EraseReceipt extends Erased {
  /** Taken out of the index: exchanges and archived memories. */
  episodes: number;
  /** The index could not be reached, or this process has none and others may: a job clears it as soon as it can. `episodes` is 0 then. */
  isPending: boolean;
}

/** Erases for good. Nothing that runs at that moment can bring back what is gone. */
export interface Erase {
  /** Null when there is no such conversation. */
  conversation(conversation: OwnedConversation): Promise<EraseReceipt | null>;
  /** Everything of a user, also of one of whom nothing is there. */
  user(owner: Owner): Promise<EraseReceipt>;
  /** One exchange or archived memory. Null when there is none. Throws AppError `conversation_busy`. */
  episode(owner: Owner, episodeId: string): Promise<EraseReceipt | null>;
}

/** How long the request waits for the index, in milliseconds; a job does what it did not. */
const INDEX_PATIENCE_MS = 2_000;

/** Takes what is left out of an index; returns how many episodes there were. */
export async function clearIndex(indexes: EpisodeIndex, { ownerKey, groupIds, episodeIds, of }: LeftInIndex): Promise<number> {
  const index = of === "chunks" ? indexes.chunks : indexes;
  const opened = await index.open(await index.name());
  const [groups, episodes] = await Promise.all([
    groupIds.length > 0 ? opened.removeGroups(ownerKey, groupIds) : 0,
    episodeIds.length > 0 ? opened.remove(ownerKey, episodeIds) : 0,
  ]);
  return groups + episodes;
}

/**
 * Erases from Postgres first, in one transaction, then the index, at once if its store answers within two seconds; jobs of that same transaction
 * clear it in any case. An index of null: this process has none; the jobs wait for one that has, if there is any index.
 */
export function makeErase(store: EraseStore, index: EpisodeIndex | null): Erase {
  async function finish(rows: ErasedRows): Promise<EraseReceipt>;
  async function finish(rows: ErasedRows | null): Promise<EraseReceipt | null>;
  async function finish(rows: ErasedRows | null): Promise<EraseReceipt | null> {
    if (!rows) return null;
    if (!index) return { ...rows.erased, episodes: 0, isPending: rows.isIndexed };
    const removed = clearIndex(index, rows.left).catch(() => null);
    const episodes = await Promise.race([removed, sleep(INDEX_PATIENCE_MS, null, { ref: false })]);
    return { ...rows.erased, episodes: episodes ?? 0, isPending: episodes === null };
  }

  return {
    conversation: async (conversation) => finish(await store.conversation(conversation)),
    user: async (owner) => finish(await store.user(owner)),
    episode: async (owner, episodeId) => finish(await store.episode(owner, episodeId)),
  };
}
