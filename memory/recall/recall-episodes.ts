import type { Embedder } from "../../models/embedder.ts";
import type { Rerank } from "../../models/reranker.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { EpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import type { Owner } from "../../turn/owner.ts";
import { episodeGroupId, ownerKey } from "../../stores/index-keys.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchFilter, SearchHit, SearchIndex } from "../../stores/search/contract/search-index.ts";
import { makeFirstAsked, makeWithoutBabble } from "./babble.ts";
import { findReference } from "./find-reference.ts";
import { embedTalk, type TalkMessage, talkOf, talkQuery, inTalk, laterOf, withinDay } from "./talk.ts";
import { makeLookAgain, RERANKED } from "./look-again.ts";
import { loadBest, rankHits, relevantEpisodes, searchBoth } from "./rank-hits.ts";
import { makeCircuitBreaker } from "./circuit-breaker.ts";
import { makeCosineScale } from "./cosine-scale.ts";
import { fillRoom, type Neighbour, WITH_NEIGHBOURS, withoutUnlikely } from "./fill-room.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import type { EpisodeType } from "../../turn/state.ts";
import { type QuestionTime, timeOfQuestion } from "../../text/time-of-question.ts";

export interface RecallParts {
  index: ServingIndex;
  episodes: EpisodeStore;
  embedder: Embedder;
  /** Orders the best anew. Default: they stay as ranked. */
  rerank?: Rerank | undefined;
  timeZone: string;
  /** The cosine that recalls an episode without a common word. Undefined: the embedder's. */
  minSimilarity?: number | undefined;
  maxAgeDays?: number | undefined;
  /** The types that are recalled unless a request names others. Default: all. */
  episodeTypes?: readonly EpisodeType[] | undefined;
  now?: () => Date;
  /** Called with the error of each failing leg. */
  onError?: ((error: unknown, work: string) => void) | undefined;
  observer?: Observer;
}

/** A search of a user's earlier exchanges. */
export interface RecallRequest extends Owner {
  question: string;
  /** The last messages, oldest first: they complete a question that points back. */
  recent?: readonly { role: "user" | "assistant"; content: string }[];
  conversationId?: string | undefined;
  /** Default: those of the setting. */
  episodeTypes?: readonly EpisodeType[] | undefined;
  /** The first moment. */
  from?: Date | undefined;
  until?: Date | undefined;
  limit: number;
  /** What exchanges and their neighbours may take: more than `limit` exchanges come while there is room. Default: no more come. */
  tokens?: number;
  /** Ids of messages in the window; their episodes are left out, also as neighbours. */
  except?: ReadonlySet<string>;
  /** `catchUp` has been called if there was anything to index. Default: the search looks for it. */
  isCaughtUp?: boolean;
  signal?: AbortSignal | undefined;
}

/** An earlier exchange that was found. */
export interface RecalledEpisode extends Neighbour {
  conversationId: string;
  /** Comparable within one search only. */
  score: number;
  /** Cosine of question and exchange, -1 to 1; null when words alone brought it. */
  similarity: number | null;
  episodeType: EpisodeType;
  /** 0 to 1. */
  importance: number;
  /** What was said beside it, in order, without what is recalled itself. */
  neighbours: Neighbour[];
}

export interface Recalled {
  episodes: RecalledEpisode[];
  /** The ids of episodes and neighbours, what is worth most first. */
  order: string[];
  /** One or both legs of the search failed. */
  degraded: boolean;
}

/** Finds the earlier exchanges that fit a question. */
export interface Recall {
  (request: RecallRequest): Promise<Recalled>;
  /** Starts to embed a question while the recent messages load; needs a caching embedder. Never throws. */
  foresee?: (question: string, signal?: AbortSignal) => void;
  /** Starts to index the last exchanges of these conversations of the owner. Never throws. */
  catchUp?: (owner: Owner, conversationIds: readonly string[]) => void;
}

/** Hits of each leg. A missing score counts as the leg's worst, so fewer hits would misjudge it. */
const LEG_LIMIT = 300;
/** Tuned in docs/decisions/0012. */
const WEIGHTS = { neighbour: 0.4, neighbourOfOwn: 1.5, wordless: 0.4, time: 3, span: 1, importance: 0.1, recency: 0.1 };
/** A search with fewer hits has found all. Far below LEG_LIMIT, because Milvus searches approximately. */
const ALL_THERE_ARE = LEG_LIMIT / 2;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Short exchanges fill the room with so many. */
const MOST_IN_ROOM = 24;

/** Either message counts: a window may begin with an answer. */
const isExcept = ({ id, attributes }: SearchHit, except: ReadonlySet<string> | undefined): boolean =>
  except !== undefined && (except.has(id) || except.has(String(attributes["answer_id"])));

/** Searches by words and by meaning side by side. Texts come from Postgres: what was erased there is not recalled. */
export function makeRecall(parts: RecallParts): Recall {
  const { index, episodes, embedder, rerank, timeZone, minSimilarity, maxAgeDays, episodeTypes } = parts;
  const { now = () => new Date(), onError = () => undefined, observer = NOOP_OBSERVER } = parts;
  const opened = async (): Promise<SearchIndex> => index.open(await index.name());
  const scaleCosines = makeCosineScale(embedder, minSimilarity);
  const askWords = makeCircuitBreaker("episode_words", observer);
  const askVectors = makeCircuitBreaker("episode_vectors", observer);
  const askEmbedder = makeCircuitBreaker("episode_embedder", observer);
  const lookAgain = makeLookAgain({ rerank, observer, onError });

  async function searchWords(filter: SearchFilter, query: string, signal: AbortSignal | undefined): Promise<SearchHit[]> {
    return query === "" ? [] : askWords(async () => (await opened()).searchWords(filter, query, LEG_LIMIT), signal);
  }

  /**
   * Hits with their nearness as score. It also searches the named day by itself: what was said "yesterday" may be far from the question in
   * meaning.
   */
  async function searchVectors(
    filter: SearchFilter,
    talk: readonly TalkMessage[],
    { day, signal, onDayFailed }: { day: QuestionTime | null; signal: AbortSignal | undefined; onDayFailed: (error: unknown) => void },
  ): Promise<{ hits: SearchHit[]; near: number; cosines: Map<string, number> }> {
    const { embedding, scale } = await askEmbedder(async () => {
      const sum = await embedTalk(talk, (text) => embedder.embedQuestion(text, signal));
      return { embedding: sum, scale: await scaleCosines(sum) };
    }, signal);
    const cosines = new Map<string, number>();
    const search = async (within: SearchFilter): Promise<SearchHit[]> => {
      const hits = await askVectors(async () => (await opened()).searchVectors(within, embedding, LEG_LIMIT), signal);
      for (const { id, score } of hits) cosines.set(id, score);
      return hits.map((hit) => ({ ...hit, score: scale.nearness(hit) }));
    };
    const everywhere = await search(filter);
    if (!day || everywhere.length < ALL_THERE_ARE) return { hits: everywhere, near: scale.near, cosines };
    const onDay = await search(withinDay(filter, day)).catch((error: unknown) => {
      onDayFailed(error);
      return [];
    });
    return { hits: [...new Map([...everywhere, ...onDay].map((hit) => [hit.id, hit])).values()], near: scale.near, cosines };
  }

  function foresee(question: string, signal?: AbortSignal): void {
    if (findReference(question) === null) askEmbedder(() => embedder.embedQuestion(question, signal), signal).catch(() => undefined);
  }

  async function recall(request: RecallRequest): Promise<Recalled> {
    const { tenantId, userId, question, recent = [], conversationId, limit, tokens, except, signal } = request;
    const moment = now();
    const talk = talkOf(question, recent);
    const query = talkQuery(talk);
    const filter: SearchFilter = {
      ownerKey: ownerKey(tenantId, userId),
      ...(conversationId === undefined ? {} : { groupId: episodeGroupId(conversationId) }),
      from: laterOf(request.from, maxAgeDays === undefined ? undefined : new Date(moment.getTime() - maxAgeDays * DAY_MS)),
      until: request.until,
      types: request.episodeTypes ?? episodeTypes,
    };
    const named = timeOfQuestion(question, moment, timeZone);
    const day = named?.kind === "day" ? named : null;
    let isDayMissing = false;
    const onDayFailed = (error: unknown): void => {
      isDayMissing = true;
      onError(error, "the search for episodes of a day");
    };
    let [near, cosines] = [Infinity, new Map<string, number>()];
    const byMeaning = searchVectors(filter, talk, { day, signal, onDayFailed }).then((found) => {
      ({ near, cosines } = found);
      return found.hits;
    });
    const { wordHits, vectorHits, degraded } = await searchBoth(searchWords(filter, query, signal), byMeaning, (error, leg) =>
      onError(error, `the search for episodes ${leg}`),
    );
    const time = named && inTalk({ text: question, time: named, now: moment, timeZone }, [...wordHits, ...vectorHits]);
    const sentences = Math.max(1, splitSentences(question).length);
    const ranked = rankHits({
      wordHits,
      vectorHits,
      // Squared: a weak embedder makes the cosines of hit and neighbour unreliable.
      weights: {
        ...WEIGHTS,
        vector: embedder.vectorWeight,
        neighbourMeaning: embedder.vectorWeight ** 2,
        // A time in one of many sentences is rarely what is asked.
        time: WEIGHTS.time / sentences,
        span: WEIGHTS.span / sentences,
      },
      now: moment,
      time,
    });
    const relevant = relevantEpisodes(ranked, {
      match: { found: ranked.length, query, near, time },
      day: time?.kind === "day" ? time : null,
      isWanted: ({ hit }) => !isExcept(hit, except),
    });
    const most = tokens === undefined ? limit : Math.max(limit, MOST_IN_ROOM);
    const besides = tokens === undefined ? undefined : limit + WITH_NEIGHBOURS;
    const wanted = rerank ? Math.max(most, RERANKED) : most;
    const firstAsked = makeFirstAsked();
    const loaded = await loadBest(relevant, wanted, async (some) => {
      const pairs = some.map(({ hit }) => [hit.id, String(hit.attributes["answer_id"])] as const);
      const ids = pairs.map(([id]) => id);
      return firstAsked(ids, await episodes.load({ tenantId, userId }, pairs, besides));
    });
    const ordered = (await lookAgain(question, loaded, signal)).slice(0, most);
    const best = withoutUnlikely(ordered, { least: limit, found: ranked.length, vectorWeight: embedder.vectorWeight });
    const { hits: found, order } = fillRoom(best, { least: limit, tokens, except });
    const withoutBabble = makeWithoutBabble(found.flatMap(({ hit: { text }, neighbours }) => [text, ...neighbours]));
    return {
      episodes: found.map(
        ({
          hit: {
            text,
            score,
            hit: { attributes },
          },
          neighbours,
        }) => ({
          id: text.id,
          conversationId: text.conversationId,
          userMessage: text.userMessage,
          assistantMessage: withoutBabble(text).assistantMessage,
          messageIds: text.messageIds,
          externalIds: text.externalIds,
          createdAt: text.createdAt,
          neighbours: neighbours.map(withoutBabble),
          score,
          similarity: cosines.get(text.id) ?? null,
          episodeType: attributes["episode_type"] as EpisodeType,
          importance: Number(attributes["importance"]),
        }),
      ),
      order,
      degraded: degraded || isDayMissing,
    };
  }
  return Object.assign(recall, { foresee });
}
