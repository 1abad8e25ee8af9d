import { setTimeout as sleep } from "node:timers/promises";
import { ownerKey } from "../../stores/index-keys.ts";
import type { EpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import type { OwnedConversation, Owner } from "../../turn/owner.ts";
import type { Recall, RecallRequest } from "../recall/recall-episodes.ts";

interface RecallLatestParts {
  recall: Recall;
  episodes: Pick<EpisodeStore, "listWaiting">;
  /** Indexes what a conversation's index lacks. */
  index: (conversation: OwnedConversation, signal: AbortSignal) => Promise<void>;
  onError?: ((error: unknown, work: string) => void) | undefined;
}

/** In milliseconds: a search waits no longer for the latest exchanges. */
const MOST_WAIT_MS = 500;
/** In milliseconds: an embedder that does not answer is left to the job. */
const MOST_INDEX_MS = 5_000;

/**
 * Recalls the exchanges of the last seconds, too: the jobs of quick turns wait for further ones, so what was said in another conversation a second
 * ago is indexed before the search.
 */
export function recallLatest({ recall, episodes, index, onError = () => undefined }: RecallLatestParts): Recall {
  const underWay = new Map<string, Promise<unknown>>();

  function catchUp({ tenantId, userId }: Owner, conversationIds: readonly string[]): void {
    if (conversationIds.length === 0) return;
    const key = ownerKey(tenantId, userId);
    const signal = AbortSignal.timeout(MOST_INDEX_MS);
    const indexing = conversationIds.map((conversationId) => index({ tenantId, userId, conversationId }, signal));
    const done = Promise.all([underWay.get(key), ...indexing])
      .catch((error: unknown) => onError(error, "indexing the latest exchanges"))
      .finally(() => {
        if (underWay.get(key) === done) underWay.delete(key);
      });
    underWay.set(key, done);
  }

  async function recallAll(request: RecallRequest): ReturnType<Recall> {
    const { tenantId, userId, isCaughtUp = false } = request;
    if (!isCaughtUp) catchUp({ tenantId, userId }, await episodes.listWaiting({ tenantId, userId }).catch(() => []));
    const catchingUp = underWay.get(ownerKey(tenantId, userId));
    if (catchingUp) await Promise.race([catchingUp, sleep(MOST_WAIT_MS, undefined, { ref: false })]);
    return recall(request);
  }
  return Object.assign(recallAll, { ...(recall.foresee ? { foresee: recall.foresee } : {}), catchUp });
}
