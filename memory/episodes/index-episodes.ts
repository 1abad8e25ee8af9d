import type { Embedder } from "../../models/embedder.ts";
import type { ConversationJob } from "../../stores/jobs/job.ts";
import type { ArchiveStore, UnindexedMemory } from "../../stores/postgres/archive-store.ts";
import type { EpisodeStore, UnindexedMessage } from "../../stores/postgres/episode-store.ts";
import type { OwnedConversation } from "../../stores/postgres/summary-store.ts";
import { dayWords } from "../../stores/search/day-words.ts";
import { episodeGroupId } from "../../stores/search/episode-group-id.ts";
import { lexicalText } from "../../stores/search/lexical-text.ts";
import { ownerKey } from "../../stores/search/owner-key.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchDocument } from "../../stores/search/search-index.ts";
import { embeddedText } from "./embedded-text.ts";
import type { JobHandler } from "../jobs/job-handler.ts";
import { completeTurns } from "../complete-turns.ts";
import type { MessagePair } from "./pair-messages.ts";
import { episodeCues } from "../recall/episode-cues.ts";

export interface IndexEpisodesParts {
  episodes: EpisodeStore;
  archive: ArchiveStore;
  index: ServingIndex;
  embedder: Embedder;
  timeZone: string;
}

/** Messages of one step: 64 turns, which is one request to the embedder and one write to the index. */
const STEP_MESSAGES = 128;
const STEP_MEMORIES = 64;
/**
 * After this many new episodes the index is made quick to search again; after as many as one step has, at the end of a conversation of
 * several. That takes seconds in a large index, so turns as people have them wait for the many.
 */
const FLUSH_EVERY = 2_000;
const FLUSH_AFTER_BULK = STEP_MESSAGES / 2;

/**
 * Makes each completed turn of a conversation an episode of the index, 64 at a time. The id of an episode is that of the user's message, so
 * that indexing it again changes nothing. What is erased meanwhile, the conversation or one turn, is taken out again.
 */
export function makeIndexEpisodes({
  episodes,
  archive,
  index,
  embedder,
  timeZone,
}: IndexEpisodesParts): JobHandler<ConversationJob<"index_episodes">> {
  let unflushed = 0;
  /** Conversations whose last step was a full one. */
  const inBulk = new Set<string>();

  function toDocument(
    { tenantId, userId, conversationId }: OwnedConversation,
    { asked, answer }: MessagePair<UnindexedMessage>,
    previousId: string | null,
    embedding: number[],
  ): SearchDocument {
    return {
      id: asked.id,
      ownerKey: ownerKey(tenantId, userId),
      groupId: episodeGroupId(conversationId),
      previousId,
      createdAt: asked.createdAt,
      lexicalText: lexicalText(`${asked.content}\n${answer.content}\n${dayWords(asked.createdAt, timeZone)}`),
      embedding,
      attributes: { conversation_id: conversationId, answer_id: answer.id, ...episodeCues(asked.content, answer.content) },
    };
  }

  /**
   * Writes episodes, then asks which of them are still there to be one: embedding may have taken longer than the jobs that clear the index
   * of what was erased meanwhile wait.
   */
  async function write(
    conversation: OwnedConversation,
    indexName: string,
    pairs: MessagePair<UnindexedMessage>[],
    before: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    if (pairs.length === 0) return;
    const [opened, embeddings] = await Promise.all([index.open(indexName), embedder.embedPassages(pairs.map(embeddedText), signal)]);
    signal.throwIfAborted();
    await opened.upsert(
      pairs.map((pair, position) => toDocument(conversation, pair, pairs[position - 1]?.asked.id ?? before, embeddings[position] ?? [])),
    );
    unflushed += pairs.length;
    const ids = pairs.map(({ asked, answer }) => [asked.id, answer.id] as const);
    const left = new Set(await episodes.listStored(conversation, ids));
    const erased = ids.map(([id]) => id).filter((id) => !left.has(id));
    if (erased.length > 0) await opened.remove(ownerKey(conversation.tenantId, conversation.userId), erased);
  }

  /** Makes what the memory agent archived an episode each, without neighbours. */
  async function indexArchived(conversation: OwnedConversation, indexName: string, signal: AbortSignal): Promise<void> {
    const memories = await archive.readUnindexed(conversation, indexName, STEP_MEMORIES);
    if (memories.length === 0) return;
    const texts = memories.map(({ content }) => content);
    const [opened, embeddings] = await Promise.all([index.open(indexName), embedder.embedPassages(texts, signal)]);
    signal.throwIfAborted();
    const key = ownerKey(conversation.tenantId, conversation.userId);
    const toMemory = ({ id, content, episodeType, importance, createdAt }: UnindexedMemory, position: number): SearchDocument => ({
      id,
      ownerKey: key,
      groupId: episodeGroupId(conversation.conversationId),
      previousId: null,
      createdAt,
      lexicalText: lexicalText(`${content}\n${dayWords(createdAt, timeZone)}`),
      embedding: embeddings[position] ?? [],
      attributes: { conversation_id: conversation.conversationId, answer_id: id, episode_type: episodeType, importance },
    });
    await opened.upsert(memories.map(toMemory));
    const ids = memories.map(({ id }) => id);
    const left = new Set(await archive.markIndexed(conversation, indexName, ids));
    const erased = ids.filter((id) => !left.has(id));
    if (erased.length > 0) await opened.remove(key, erased);
  }

  async function flushAfterBulk({ conversationId }: OwnedConversation, indexName: string, isFull: boolean): Promise<void> {
    const isEndOfBulk = inBulk.delete(conversationId) && !isFull;
    if (isFull) inBulk.add(conversationId);
    if (unflushed < (isEndOfBulk ? FLUSH_AFTER_BULK : FLUSH_EVERY)) return;
    unflushed = 0;
    await (await index.open(indexName)).flush();
  }

  return {
    async step(conversation, signal) {
      const indexName = await index.name();
      await indexArchived(conversation, indexName, signal);
      const { progress, messages } = await episodes.readBacklog(conversation, indexName, STEP_MESSAGES);
      const isFull = messages.length === STEP_MESSAGES;
      const { pairs, through: last } = completeTurns(messages, STEP_MESSAGES);
      if (!last) return;
      const before = progress?.lastEpisodeId ?? null;
      await write(conversation, indexName, pairs, before, signal);
      await episodes.advance(conversation, indexName, progress, {
        indexedThrough: { createdAt: last.createdAt, id: last.id },
        lastEpisodeId: pairs.at(-1)?.asked.id ?? before,
      });
      await flushAfterBulk(conversation, indexName, isFull);
    },

    async remaining(transaction, conversation) {
      const more = await episodes.lockAndLook(transaction, conversation);
      if (!more) inBulk.delete(conversation.conversationId);
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },
  };
}
