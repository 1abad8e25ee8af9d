import type { SearchHit } from "../../stores/search/search-index.ts";

/** What the two legs of a search found: by words and by vectors. */
interface LegHits {
  wordHits: SearchHit[];
  vectorHits: SearchHit[];
  /** A leg failed, or both. */
  degraded: boolean;
}

/** Waits for both legs of a search. When one fails the hits of the other remain, and `onError` hears why. */
export async function searchBoth(
  words: Promise<SearchHit[]>,
  vectors: Promise<SearchHit[]>,
  onError: (error: unknown) => void,
): Promise<LegHits> {
  const legs = await Promise.allSettled([words, vectors]);
  for (const leg of legs) if (leg.status === "rejected") onError(leg.reason);
  const [wordHits = [], vectorHits = []] = legs.map((leg) => (leg.status === "fulfilled" ? leg.value : []));
  return { wordHits, vectorHits, degraded: legs.some(({ status }) => status === "rejected") };
}

/** What each thing adds to a score. One standard deviation of the root of BM25 is 1. */
export interface RankingWeights {
  /** One standard deviation of cosine. Each embedder has its own: weak vectors at equal weight make recall worse. */
  vector: number;
  /** The share of the better neighbour's BM25 that an exchange gets: what was said before or after belongs to it. */
  neighbour: number;
  /** The limit of that share, in units of the own BM25: an exchange with none of the words may be about something else. Default: no limit. */
  neighbourOfOwn?: number;
  /** How far a cosine rises towards that of a nearer neighbour said within an hour: 0 not at all (default), 1 fully. */
  neighbourMeaning?: number;
  /** Word score of a hit without any of the words, as a share of the worst word score. Default: 1. */
  wordless?: number;
  /** Being of the day that the question names. Other days are not excluded: a quarter of the answers are there. */
  time: number;
  /** The same for a week, month or year. Default: as for a day. */
  span?: number;
  /** From the least to the most important. It decides between equals. */
  importance: number;
  /** From the oldest to one of today. It decides between equals. */
  recency: number;
}

export interface HitsToRank {
  wordHits: readonly SearchHit[];
  vectorHits: readonly SearchHit[];
  weights: RankingWeights;
  now: Date;
  /** The time that the question names. */
  time: { from: Date; until: Date; kind?: "day" | "span" } | null;
}

export interface RankedHit {
  hit: SearchHit;
  /** Standard deviations above the average hit; comparable within one search only. */
  score: number;
  /** BM25 and cosine from the index; null when the hit is not of that leg. */
  words: number | null;
  cosine: number | null;
}

const RECENCY_HALF_LIFE_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Scores whose relative difference is smaller are equal. */
const ROUNDING = 1e-9;
/** Neighbours further apart belong to different talks. */
const ONE_TALK_MS = 60 * 60 * 1_000;

/**
 * Puts the hits of both legs into one order, best first. Fuses scores and not ranks: rank fusion with equal weights recalls less than keywords
 * alone (docs/decisions/0012).
 */
export function rankHits({ wordHits, vectorHits, weights, now, time }: HitsToRank): RankedHit[] {
  const hits = new Map([...vectorHits, ...wordHits].map((hit) => [hit.id, hit]));
  const words = new Map(wordHits.map(({ id, score }) => [id, score]));
  const cosines = new Map(vectorHits.map(({ id, score }) => [id, score]));
  const neighbours = makeNeighbours(hits);
  const wordScore = standardise(wordScores(hits.values(), neighbours, words, weights), weights.wordless ?? 1);
  const vectorScore = standardise(meaningScores(vectorHits, neighbours, cosines, weights), 1);
  const ofTime = time?.kind === "span" ? (weights.span ?? weights.time) : weights.time;

  const ranked = [...hits.values()].map((hit): RankedHit => {
    const isOfTime = time !== null && hit.createdAt >= time.from && hit.createdAt < time.until;
    const ageDays = Math.max(0, (now.getTime() - hit.createdAt.getTime()) / DAY_MS);
    const score =
      wordScore(hit.id) +
      weights.vector * vectorScore(hit.id) +
      (isOfTime ? ofTime : 0) +
      weights.importance * Number(hit.attributes["importance"] ?? 0.5) +
      weights.recency * 0.5 ** (ageDays / RECENCY_HALF_LIFE_DAYS);
    return { hit, score, words: words.get(hit.id) ?? null, cosine: cosines.get(hit.id) ?? null };
  });
  return ranked.sort(bestFirst);
}

/**
 * The best `limit` hits whose texts Postgres still has. The index may still have some that were erased or replaced: only then are those behind
 * the best loaded.
 */
export async function loadBest<Text extends { id: string }>(
  ranked: readonly RankedHit[],
  limit: number,
  load: (some: readonly RankedHit[]) => Promise<Text[]>,
): Promise<(RankedHit & { text: Text })[]> {
  const texts = await load(ranked.slice(0, limit));
  if (texts.length < limit) texts.push(...(await load(ranked.slice(limit))));
  const textOf = new Map(texts.map((text) => [text.id, text]));
  return ranked
    .flatMap((episode) => {
      const text = textOf.get(episode.hit.id);
      return text ? [{ ...episode, text }] : [];
    })
    .slice(0, limit);
}

/** The better hit first; of equals always the same. */
export function bestFirst(one: RankedHit, other: RankedHit): number {
  return other.score - one.score || (one.hit.id < other.hit.id ? -1 : 1);
}

/**
 * Turns the scores of a leg into standard deviations from their mean. A hit of the other leg gets the share `missing` of the worst score; when
 * all scores are alike, the worst is one deviation below them.
 */
function standardise(scores: Map<string, number>, missing: number): (id: string) => number {
  const values = [...scores.values()];
  if (values.length === 0) return () => 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  const alike = deviation <= ROUNDING * Math.abs(mean);
  const worst = alike ? -1 : (Math.min(...values) - mean) / deviation;
  return (id) => {
    const value = scores.get(id);
    if (value === undefined) return missing * worst;
    return alike ? 0 : (value - mean) / deviation;
  };
}

/** Finds what was said right before and right after a hit, among the hits. */
function makeNeighbours(hits: Map<string, SearchHit>): (hit: SearchHit) => SearchHit[] {
  const following = new Map<string, SearchHit>();
  for (const hit of hits.values()) if (hit.previousId) following.set(hit.previousId, hit);
  return ({ id, previousId }) => [previousId ? hits.get(previousId) : undefined, following.get(id)].filter((hit) => hit !== undefined);
}

type Neighbours = ReturnType<typeof makeNeighbours>;

/**
 * The root of each hit's BM25 with a share of its better neighbour's. Without the root a hit with a rare word would be so many deviations above
 * the others that no meaning could compete.
 */
function wordScores(
  hits: Iterable<SearchHit>,
  neighbours: Neighbours,
  words: Map<string, number>,
  { neighbour, neighbourOfOwn = Infinity }: RankingWeights,
): Map<string, number> {
  const result = new Map<string, number>();
  for (const hit of hits) {
    const own = words.get(hit.id) ?? 0;
    const share = neighbour * Math.max(0, ...neighbours(hit).map(({ id }) => words.get(id) ?? 0));
    const score = own + (neighbourOfOwn === Infinity ? share : Math.min(share, neighbourOfOwn * own));
    if (score > 0) result.set(hit.id, Math.sqrt(score));
  }
  return result;
}

/** Each hit's cosine, raised towards that of a nearer neighbour: "I bought it in Paris" means the thing that was named just before. */
function meaningScores(
  hits: readonly SearchHit[],
  neighbours: Neighbours,
  cosines: Map<string, number>,
  { neighbourMeaning = 0 }: RankingWeights,
): Map<string, number> {
  const lifted = (hit: SearchHit): number => {
    const inTalk = neighbours(hit).filter(({ createdAt }) => Math.abs(createdAt.getTime() - hit.createdAt.getTime()) <= ONE_TALK_MS);
    const nearest = Math.max(hit.score, ...inTalk.map(({ id }) => cosines.get(id) ?? hit.score));
    return hit.score + neighbourMeaning * (nearest - hit.score);
  };
  return new Map(hits.map((hit) => [hit.id, lifted(hit)]));
}
