import type { SearchHit } from "../../stores/search/search-index.ts";

/** What the two legs of a search found. */
interface LegHits {
  wordHits: SearchHit[];
  vectorHits: SearchHit[];
  /** One of them, or both, could not be searched. */
  degraded: boolean;
}

/** Waits for both legs of a search; what one cannot give the other still does, and `onError` hears why. */
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

/** How much each thing counts beside one standard deviation of BM25's root. */
export interface RankingWeights {
  /** One standard deviation of cosine; it belongs to the embedder, weak vectors at equal weight make recall worse. */
  vector: number;
  /** Share of the better neighbour's BM25 that an exchange gets: what was said before or after belongs to it. */
  neighbour: number;
  /** That share in own BM25 at most: what has none of the words itself may be about something else. Without: whatever it comes to. */
  neighbourOfOwn?: number;
  /** Share that an exchange gets of how much nearer in meaning its better neighbour is, when both were said within an hour. Default: none. */
  neighbourMeaning?: number;
  /** What having none of the words counts, as a share of the worst that has some. Default: as the worst itself. */
  wordless?: number;
  /** Being of the day that the question names. It lifts, yet does not exclude: the answer was said on another day in a quarter of cases. */
  time: number;
  /** The same for a week, month, year. Default: as for a day. */
  span?: number;
  /** From the least to the most important. Small: it decides between equals. */
  importance: number;
  /** From the oldest to one of today. Small too. */
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
  /** Standard deviations above what the search found on average; comparable within one search only. */
  score: number;
  /** BM25 and cosine as the index gave them; null when it was not among that leg's hits. */
  words: number | null;
  cosine: number | null;
}

/** Days after which an episode has half of the recency that is left. */
const RECENCY_HALF_LIFE_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Scores that differ by less, as a share, are the same. */
const ROUNDING = 1e-9;
/** What was said further apart is another talk. */
const ONE_TALK_MS = 60 * 60 * 1_000;

/** The better first; of equals always the same. */
export function bestFirst(one: RankedHit, other: RankedHit): number {
  return other.score - one.score || (one.hit.id < other.hit.id ? -1 : 1);
}

/**
 * Turns a leg's scores into standard deviations from their mean. What the leg did not find counts as a share of its worst; when all that it found
 * are alike, one deviation below them stands for the worst.
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

/** Finds what was said right before and right after a hit, as far as it was found too. */
function makeNeighbours(hits: Map<string, SearchHit>): (hit: SearchHit) => SearchHit[] {
  const following = new Map<string, SearchHit>();
  for (const hit of hits.values()) if (hit.previousId) following.set(hit.previousId, hit);
  return ({ id, previousId }) => [previousId ? hits.get(previousId) : undefined, following.get(id)].filter((hit) => hit !== undefined);
}

type Neighbours = ReturnType<typeof makeNeighbours>;

/**
 * The root of BM25 with a share of the better neighbour's, for every hit. The root, because BM25 has a long upper end: the one hit with a rare
 * word of the question would be so many deviations above the others that no meaning comes up against it.
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

/**
 * Cosine, lifted towards that of a neighbour which is nearer: "I bought it in Paris" means the thing that was named just before. Never lowered,
 * and not by what was said at another time: neighbours that are about something else say nothing.
 */
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

/**
 * Puts the hits of keyword and vector search into one order, best first. Scores are fused, not ranks: equal-weight rank fusion lowers
 * recall below keywords alone (benchmarks/README.md, recall).
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
 * The best `limit` of these that Postgres still has, with their texts, in their order. Those behind them are read only when some are gone:
 * erased or replaced, while the index still has them.
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
