import { setTimeout as sleep } from "node:timers/promises";
import type { ConversationStore, Erased } from "../../stores/postgres/conversation-store.ts";
import type { OwnedConversation } from "../../stores/postgres/summary-store.ts";
import { episodeGroupId } from "../../stores/search/episode-group-id.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../stores/search/owner-key.ts";

/** How long the request waits for the index, in milliseconds; the job does what it did not. */
const INDEX_PATIENCE_MS = 2_000;
/** When the job clears the index once more: by then a step that was writing to it when its job was erased is surely over. */
const SECOND_SWEEP_SECONDS = 60;

/** Null when there is no such conversation, else how much of it went. */
export type EraseConversation = (conversation: OwnedConversation) => Promise<(Erased & { episodes: number }) | null>;

/**
 * Deletes a conversation with everything that belongs to it: in Postgres in one transaction, then in the index, at once if its store answers,
 * and in any case once more by a job of that same transaction, which holds nothing but hashes.
 */
export function makeEraseConversation(conversations: ConversationStore, index: EpisodeIndex | null): EraseConversation {
  async function eraseEpisodes(owner: string, group: string): Promise<number> {
    if (!index) return 0;
    const removal = index
      .name()
      .then((name) => index.open(name))
      .then((opened) => opened.removeGroup(owner, group));
    return Promise.race([removal.catch(() => 0), sleep(INDEX_PATIENCE_MS, 0, { ref: false })]);
  }

  return async function eraseConversation(conversation) {
    const key = ownerKey(conversation.tenantId, conversation.userId);
    const groupId = episodeGroupId(conversation.conversationId);
    const erased = await conversations.erase(conversation, {
      jobs: index ? [{ kind: "erase_episodes", ownerKey: key, groupId }] : [],
      startAfterSeconds: SECOND_SWEEP_SECONDS,
    });
    return erased && { ...erased, episodes: await eraseEpisodes(key, groupId) };
  };
}
