import type { Embedder } from "../../models/embedder.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { EpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import type { EpisodeText } from "../../stores/postgres/memory/episode-texts.ts";
import type { Owner } from "../../stores/owner.ts";
import { episodeGroupId, ownerKey } from "../../stores/search/index-keys.ts";
import { lexicalQuery } from "../../text/lexical-query.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchFilter, SearchHit, SearchIndex } from "../../stores/search/search-index.ts";
import { completeQuestion } from "./complete-question.ts";
import { loadBest, rankHits, searchBoth } from "./hybrid-search.ts";
import { makeCircuitBreaker } from "./circuit-breaker.ts";
import { pointingBack } from "./pointing-back.ts";
import { relevantEpisodes } from "./relevance.ts";
import { type QuestionTime, timeOfQuestion } from "../../text/time-of-question.ts";

export interface RecallParts {
  index: ServingIndex;
  episodes: EpisodeStore;
  embedder: Embedder;
  timeZone: string;
  /** Cosine below which an episode without a word in common is not recalled, unless it is nearer than what has words enough. */
  minSimilarity: number;
  maxAgeDays?: number | undefined;
  now?: () => Date;
  /** Hears why a leg of the search could not be used. */
  onError?: (error: unknown) => void;
  /** Hears of the circuits. */
  observer?: Observer;
}

/** A search of a user's earlier exchanges. */
export interface RecallRequest extends Owner {
  question: string;
  /** What was said just before, oldest first: completes a question that points back. */
  recent?: readonly { role: "user" | "assistant"; content: string }[];
  /** Only episodes of this conversation. */
  conversationId?: string | undefined;
  /** Episodes, at most. */
  limit: number;
  /** Episodes that are not wanted, by the id of either message: those in the window. */
  except?: ReadonlySet<string>;
  signal?: AbortSignal | undefined;
}

/** An exchange that was found, with its texts as they are stored now. */
export interface RecalledEpisode extends EpisodeText {
  /** Higher is better; comparable within one search only. */
  score: number;
  /** `preference`, `decision`, `context` or `outcome`. */
  episodeType: string;
  /** 0 to 1. */
  importance: number;
}

/** What a search came to. */
export interface Recalled {
  /** Best first. */
  episodes: RecalledEpisode[];
  /** Keywords or vectors, or both, could not be searched. */
  degraded: boolean;
}

/** Finds the earlier exchanges that fit a question. Never throws for a store or embedder that is away: then less is found, and `degraded` is true. */
export interface Recall {
  (request: RecallRequest): Promise<Recalled>;
  /**
   * Begins to embed a question that will be searched for, while what was said just before is still being read; for an embedder that
   * remembers questions. What becomes of it is the search's. Waits for nothing and never throws.
   */
  foresee?: (question: string, signal?: AbortSignal) => void;
}

/** Hits of each leg that are put together: what only one leg found counts as the worst of the other, so that a short leg misjudges it. */
export const LEG_LIMIT = 300;
/** Found on LoCoMo, LongMemEval, MemoryBank, MADial and MemDaily: benchmarks/README.md, recall. */
const WEIGHTS = { neighbour: 0.4, neighbourOfOwn: 1.5, wordless: 0.4, time: 3, span: 1, importance: 0.1, recency: 0.1 };
/**
 * With fewer hits than this a search that may give LEG_LIMIT has given all there are, those of a day among them: for most users the search of
 * that day alone would find nothing new. An index that compares approximately, as Milvus may, is let off some of them.
 */
const ALL_THERE_ARE = LEG_LIMIT / 2;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** More that are looked up in Postgres when some of the best have been erased there and the index still has them. */
const SPARE = 10;

/** The part of a day that a filter allows. */
function withinDay(filter: SearchFilter, { from, until }: QuestionTime): SearchFilter {
  return { ...filter, from: filter.from && filter.from > from ? filter.from : from, until };
}

/** An exchange of which either message is unwanted: a window may begin with an answer. */
function isExcept({ id, attributes }: SearchHit, except: ReadonlySet<string> | undefined): boolean {
  return except !== undefined && (except.has(id) || except.has(String(attributes["answer_id"])));
}

/**
 * Searches a user's episodes by keywords and by meaning side by side and puts both into one order. What one leg cannot give the other
 * still does. Texts come from Postgres: what is erased there is not recalled, whatever the index still holds. Never throws for a store or
 * embedder that is away.
 */
export function makeRecall(parts: RecallParts): Recall {
  const {
    index,
    episodes,
    embedder,
    timeZone,
    minSimilarity,
    maxAgeDays,
    now = () => new Date(),
    onError = () => undefined,
    observer = NOOP_OBSERVER,
  } = parts;

  const opened = async (): Promise<SearchIndex> => index.open(await index.name());
  const askIndex = makeCircuitBreaker("episode_index", observer);
  const askEmbedder = makeCircuitBreaker("episode_embedder", observer);

  async function searchWords(filter: SearchFilter, query: string, signal: AbortSignal | undefined): Promise<SearchHit[]> {
    return query === "" ? [] : askIndex(async () => (await opened()).searchWords(filter, query, LEG_LIMIT), signal);
  }

  /** By meaning, everywhere and on the day that the question names: what was said "yesterday" need not have a word in common with it. */
  async function searchVectors(
    filter: SearchFilter,
    question: string,
    { day, signal, onDayFailed }: { day: QuestionTime | null; signal: AbortSignal | undefined; onDayFailed: (error: unknown) => void },
  ): Promise<SearchHit[]> {
    const embedding = await askEmbedder(() => embedder.embedQuestion(question, signal), signal);
    const search = (within: SearchFilter): Promise<SearchHit[]> =>
      askIndex(async () => (await opened()).searchVectors(within, embedding, LEG_LIMIT), signal);
    const everywhere = await search(filter);
    if (!day || everywhere.length < ALL_THERE_ARE) return everywhere;
    const onDay = await search(withinDay(filter, day)).catch((error: unknown) => {
      onDayFailed(error);
      return [];
    });
    return [...new Map([...everywhere, ...onDay].map((hit) => [hit.id, hit])).values()];
  }

  /** One that points back is embedded with what it points at. */
  function foresee(question: string, signal?: AbortSignal): void {
    if (pointingBack(question) === null) askEmbedder(() => embedder.embedQuestion(question, signal), signal).catch(() => undefined);
  }

  async function recall({
    tenantId,
    userId,
    question,
    recent = [],
    conversationId,
    limit,
    except,
    signal,
  }: RecallRequest): Promise<Recalled> {
    const moment = now();
    const complete = completeQuestion(question, [...recent]);
    const query = lexicalQuery(complete);
    const filter: SearchFilter = {
      ownerKey: ownerKey(tenantId, userId),
      ...(conversationId === undefined ? {} : { groupId: episodeGroupId(conversationId) }),
      ...(maxAgeDays === undefined ? {} : { from: new Date(moment.getTime() - maxAgeDays * DAY_MS) }),
    };
    const time = timeOfQuestion(question, moment, timeZone);
    const day = time?.kind === "day" ? time : null;
    let isDayMissing = false;
    const onDayFailed = (error: unknown): void => {
      isDayMissing = true;
      onError(error);
    };
    const { wordHits, vectorHits, degraded } = await searchBoth(
      searchWords(filter, query, signal),
      searchVectors(filter, complete, { day, signal, onDayFailed }),
      onError,
    );
    const ranked = rankHits({
      wordHits,
      vectorHits,
      // Squared: what a weak embedder says of a neighbour is twice in doubt.
      weights: { ...WEIGHTS, vector: embedder.vectorWeight, neighbourMeaning: embedder.vectorWeight ** 2 },
      now: moment,
      time,
    });
    const relevant = relevantEpisodes(ranked, {
      evidence: { found: ranked.length, query, minSimilarity, time },
      day,
      isWanted: ({ hit }) => !isExcept(hit, except),
    });
    const found = await loadBest(relevant.slice(0, limit + SPARE), limit, (some) =>
      episodes.load(
        { tenantId, userId },
        some.map(({ hit }) => [hit.id, String(hit.attributes["answer_id"])]),
      ),
    );
    return {
      episodes: found.map(({ text, score, hit: { attributes } }) => ({
        ...text,
        score,
        episodeType: String(attributes["episode_type"]),
        importance: Number(attributes["importance"]),
      })),
      degraded: degraded || isDayMissing,
    };
  }
  return Object.assign(recall, { foresee });
}
