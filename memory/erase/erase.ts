import { setTimeout as sleep } from "node:timers/promises";
import type { OwnedConversation, Owner, OwnerScope } from "../../turn/owner.ts";
import type { Erased } from "../../stores/postgres/erase/erase-exchange.ts";
import type { EntriesToSweep } from "../../stores/postgres/conversations/erase-markers.ts";
import type { ErasedRows, EraseStore } from "../../stores/postgres/erase/erase-store.ts";
import type { ErasureProgress } from "../../stores/postgres/erase/erasure-store.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";

/** What an erase took, by kind. */
export interface EraseReceipt extends Erased {
  /** Exchanges and archived memories. */
  episodes: number;
  /** Conversations that shared some of it and have lost it. */
  forks: string[];
  /** Jobs still remove what nobody can find: rows of a large erase, or index entries that this process did not reach. */
  isPending: boolean;
  /** What a large erase still has to remove. The counts above rise until this is null. */
  left: { erasureId: string; messages: number } | null;
}

/** Erases for good. Nothing that runs meanwhile brings it back. */
export interface Erase {
  /** Null when there is no such conversation; with `unusedDays` also when it is pinned or was used since. */
  conversation(conversation: OwnedConversation, unusedDays?: number): Promise<EraseReceipt | null>;
  /** Erases everything of a user. Called again, it reports the progress of a large erase. */
  user(owner: Owner): Promise<EraseReceipt>;
  /** The progress of a conversation's large erase, or null. Its end is reported once. */
  progress(scope: OwnerScope, conversationId: string): Promise<EraseReceipt | null>;
  /** The progress of the large erase with this id, also after its end, or null. */
  erasure(scope: OwnerScope, id: string): Promise<EraseReceipt | null>;
  /** Erases one exchange or archived memory; null when there is none. Throws AppError `conversation_busy`. */
  episode(owner: Owner, episodeId: string): Promise<EraseReceipt | null>;
  /** See `EraseStore`. */
  branch(...branch: Parameters<EraseStore["branch"]>): Promise<EraseReceipt>;
}

/** How many milliseconds the request waits for the index. */
const INDEX_PATIENCE_MS = 2_000;

/**
 * Erases in Postgres first, then in the index if it answers within two seconds. Jobs sweep the index in any case, and do all of a large
 * erase. With `index` null a process that has one does it.
 */
export function makeErase(store: EraseStore, index: EpisodeIndex | null): Erase {
  async function finish({ erased, forks, entries, isIndexed }: ErasedRows): Promise<EraseReceipt> {
    const receipt = { ...erased, episodes: 0, forks, left: null };
    if (!entries) return { ...receipt, isPending: false };
    if (!index) return { ...receipt, isPending: isIndexed };
    const removed = sweepIndex(index, entries).catch(() => null);
    const episodes = await Promise.race([removed, sleep(INDEX_PATIENCE_MS, null, { ref: false })]);
    return { ...receipt, episodes: episodes ?? 0, isPending: episodes === null };
  }

  const progress = async (scope: OwnerScope, conversationId: string | null): Promise<EraseReceipt | null> =>
    toReceipt(await store.report(scope, conversationId));

  return {
    async conversation(conversation, unusedDays) {
      const rows = await store.conversation(conversation, unusedDays);
      return rows && addReceipts(await finish(rows), rows.entries ? null : await progress(conversation, conversation.conversationId));
    },
    user: async (owner) => addReceipts(await finish(await store.user(owner)), await progress(owner, null)),
    progress,
    erasure: async (scope, id) => toReceipt(await store.find(scope, id)),
    branch: async (...branch) => finish(await store.branch(...branch)),
    async episode(owner, episodeId) {
      const rows = await store.episode(owner, episodeId);
      return rows && finish(rows);
    },
  };
}

/** Removes erased entries from the index; returns how many episodes there were. */
export async function sweepIndex(indexes: EpisodeIndex, { ownerKey, groupIds, episodeIds, of }: EntriesToSweep): Promise<number> {
  const index = of === "chunks" ? indexes.chunks : indexes;
  const opened = await index.open(await index.name());
  const [groups, episodes] = await Promise.all([
    groupIds.length > 0 ? opened.removeGroups(ownerKey, groupIds) : 0,
    episodeIds.length > 0 ? opened.remove(ownerKey, episodeIds) : 0,
  ]);
  return groups + episodes;
}

function toReceipt(progress: ErasureProgress | null): EraseReceipt | null {
  return progress && { ...progress.erased, forks: [], isPending: progress.left !== null, left: progress.left };
}

function addReceipts(one: EraseReceipt, other: EraseReceipt | null): EraseReceipt {
  if (!other) return one;
  return {
    messages: one.messages + other.messages,
    summaries: one.summaries + other.summaries,
    episodes: one.episodes + other.episodes,
    coreMemorySections: one.coreMemorySections + other.coreMemorySections,
    memoryOperations: one.memoryOperations + other.memoryOperations,
    jobs: one.jobs + other.jobs,
    forks: [...one.forks, ...other.forks],
    isPending: one.isPending || other.isPending,
    left: other.left,
  };
}
