import type { Embedder } from "../../models/embedder.ts";
import type { ConversationJob } from "../../stores/jobs/job.ts";
import type { ArchiveStore, UnindexedMemory } from "../../stores/postgres/memory/archive-store.ts";
import type { EpisodeStore, IndexBacklog } from "../../stores/postgres/memory/episode-store.ts";
import {
  episodeIdOf,
  type Exchange,
  firstMessageOf,
  type ReadExchange,
  toExchanges,
} from "../../stores/postgres/conversations/exchanges.ts";
import { dayWords } from "../../text/days.ts";
import { episodeGroupId, ownerKey } from "../../stores/index-keys.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchDocument } from "../../stores/search/contract/search-index.ts";
import { mapInSlices } from "../../text/map-in-slices.ts";
import { repeatsItself } from "../../text/repeats-itself.ts";
import { hasWords, sameWords, sharesNothing } from "../../text/same-words.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import { classifyExchange } from "./classify-exchange.ts";
import type { OwnedConversation } from "../../turn/owner.ts";

/** A longer answer would outweigh the user's message, which names the topic. */
const SHORT_ANSWER_CHARACTERS = 400;

/**
 * Makes the searched text of an exchange. It drops an answer that loops, was cut, says nothing, was given before, or shares nothing with
 * the question. Imported answers may share nothing: people's talk often has no common word (docs/decisions/0040).
 */
function makeToIndexed(earlierAnswers: readonly string[]): (exchange: ReadExchange) => ReadExchange {
  const given = new Set(earlierAnswers.map(sameWords));
  return (exchange) => {
    const { asked, answer, anchor } = exchange;
    if (asked === null || answer === null) return exchange;
    const { content } = answer;
    const words = sameWords(content);
    const isOff = given.has(words) || (!anchor.imported && sharesNothing(asked.content, content));
    const isLeftOut = anchor.isCut || content === "" || (isOff && hasWords(content)) || repeatsItself(content);
    given.add(words);
    return isLeftOut ? { asked, answer: null, anchor } : exchange;
  };
}

export function textToEmbed({ asked, answer }: Exchange<{ content: string }>): string {
  if (!asked || !answer) return (asked ?? answer)?.content ?? "";
  return answer.content.length <= SHORT_ANSWER_CHARACTERS ? `${asked.content}\n${answer.content}` : asked.content;
}

interface IndexEpisodesParts {
  episodes: EpisodeStore;
  archive: ArchiveStore;
  index: ServingIndex;
  embedder: Embedder;
  timeZone: string;
}

const STEP_MESSAGES = 128;
const STEP_MEMORIES = 64;
/** A flush makes the index quick to search after this many new episodes, but takes seconds. */
const FLUSH_EVERY = 2_000;
/** The same at the end of a long conversation. */
const FLUSH_AFTER_BULK = STEP_MESSAGES / 2;

/** A message without a partner is its own answer. */
function answerIdOf(exchange: ReadExchange): string {
  return (exchange.answer ?? firstMessageOf(exchange)).id;
}

/** The answer was imported before its question, and stood alone until then. */
function isAskedLater({ asked, answer }: ReadExchange): boolean {
  return asked !== null && answer !== null && (asked.importNumber ?? 0) > (answer.importNumber ?? 0);
}

/**
 * Indexes each exchange as an episode: a completed turn, an imported question with its answer, or a lone imported message. An episode has
 * the id of its first message, so indexing again changes nothing. What is erased meanwhile is removed.
 */
export function makeIndexEpisodes(parts: IndexEpisodesParts): JobHandler<ConversationJob<"index_episodes">> {
  const { episodes, archive, index, embedder, timeZone } = parts;
  let unflushed = 0;
  const inBulk = new Set<string>();

  /** `indexed`: the searched text of the exchange. */
  function toDocument(
    owned: OwnedConversation,
    { exchange, indexed }: { exchange: ReadExchange; indexed: ReadExchange },
    previousId: string | null,
    embedding: number[],
  ): SearchDocument {
    const { tenantId, userId, conversationId } = owned;
    const { createdAt } = firstMessageOf(exchange);
    const id = episodeIdOf(exchange);
    const [asked, answered] = [indexed.asked?.content ?? "", indexed.answer?.content ?? ""];
    return {
      id,
      ownerKey: ownerKey(tenantId, userId),
      groupId: episodeGroupId(conversationId),
      previousId,
      createdAt,
      lexicalText: lexicalText(`${asked}\n${answered}\n${dayWords(createdAt, timeZone)}`),
      embedding,
      attributes: {
        conversation_id: conversationId,
        answer_id: answerIdOf(exchange),
        ...classifyExchange(asked, exchange.answer?.content ?? ""),
      },
    };
  }

  /** Writes episodes, then removes those erased meanwhile (an embedding may outlast the sweep jobs) and answers asked later. */
  async function write(
    conversation: OwnedConversation,
    indexName: string,
    exchanges: ReadExchange[],
    { previous: before, earlierAnswers }: IndexBacklog,
    signal: AbortSignal,
  ): Promise<void> {
    if (exchanges.length === 0) return;
    const toIndexed = makeToIndexed(earlierAnswers);
    const read = await mapInSlices(exchanges, (exchange) => ({ exchange, indexed: toIndexed(exchange) }));
    const texts = read.map(({ indexed }) => textToEmbed(indexed));
    const [opened, embeddings] = await Promise.all([index.open(indexName), embedder.embedPassages(texts, signal)]);
    signal.throwIfAborted();
    const ids = exchanges.map((exchange) => [episodeIdOf(exchange), answerIdOf(exchange)] as const);
    const branches = exchanges.map(({ anchor }) => anchor.branchId);
    // What was said on another branch does not precede it.
    const previousOf = (position: number): string | null => {
      const last =
        position === 0
          ? { id: before?.id ?? null, branchId: before?.branchId ?? null }
          : { id: ids[position - 1]?.[0] ?? null, branchId: branches[position - 1] ?? null };
      return last.branchId === branches[position] ? last.id : null;
    };
    const documents = await mapInSlices(read, (one, position) =>
      toDocument(conversation, one, previousOf(position), embeddings[position] ?? []),
    );
    await opened.upsert(documents);
    unflushed += exchanges.length;
    const left = new Set(await episodes.listStored(conversation, ids));
    const gone = ids.map(([id]) => id).filter((id) => !left.has(id));
    const joined = exchanges.filter(isAskedLater).map(answerIdOf);
    if (gone.length + joined.length > 0) await opened.remove(ownerKey(conversation.tenantId, conversation.userId), [...gone, ...joined]);
  }

  async function indexArchived(conversation: OwnedConversation, indexName: string, signal: AbortSignal): Promise<void> {
    const memories = await archive.readUnindexed(conversation, indexName, STEP_MEMORIES);
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
    await opened.upsert(await mapInSlices(memories, toMemory));
    const ids = memories.map(({ id }) => id);
    const left = new Set(await archive.markIndexed(conversation, indexName, memories));
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
      const backlog = await episodes.readBacklog(conversation, indexName, STEP_MESSAGES);
      const { messages, previous } = backlog;
      if (backlog.hasArchived) await indexArchived(conversation, indexName, signal);
      const last = messages.at(-1);
      if (!last) return;
      const exchanges = toExchanges(messages);
      await write(conversation, indexName, exchanges, backlog, signal);
      const lastExchange = exchanges.at(-1);
      await episodes.advance(conversation, indexName, backlog, {
        indexedThrough: { createdAt: last.createdAt, id: last.id },
        lastEpisodeId: lastExchange ? episodeIdOf(lastExchange) : (previous?.id ?? null),
      });
      await flushAfterBulk(conversation, indexName, messages.length === STEP_MESSAGES);
    },

    async remaining(transaction, conversation) {
      const more = await episodes.lockAndCheck(transaction, conversation);
      if (!more) inBulk.delete(conversation.conversationId);
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },

    doneWhen: (conversation) => (inBulk.has(conversation.conversationId) ? null : episodes.whenIndexed(conversation)),
  };
}
