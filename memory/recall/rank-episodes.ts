import type { SearchHit } from "../../stores/search/search-index.ts";

/** How much each thing counts beside one standard deviation of BM25's root. */
export interface RankingWeights {
  /** One standard deviation of cosine; it belongs to the embedder, weak vectors at equal weight make recall worse. */
  vector: number;
  /** Share of the better neighbour's BM25 that an exchange gets: what was said before or after belongs to it. */
  neighbour: number;
  /** That share in own BM25 at most: what has none of the words itself may be about something else. Without: whatever it comes to. */
  neighbourOfOwn?: number;
  /** Being of the day that the question names. It lifts, yet does not exclude: the answer was said on another day in a quarter of cases. */
  time: number;
  /** The same for a week, month, year. Default: as for a day. */
  span?: number;
  /** From the least to the most important. Small: it decides between equals. */
  importance: number;
  /** From the oldest to one of today. Small too. */
  recency: number;
}

export interface EpisodesToRank {
  wordHits: readonly SearchHit[];
  vectorHits: readonly SearchHit[];
  weights: RankingWeights;
  now: Date;
  /** The time that the question names. */
  time: { from: Date; until: Date; kind?: "day" | "span" } | null;
}

export interface RankedEpisode {
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

/** The better first; of equals always the same. */
export function bestFirst(one: RankedEpisode, other: RankedEpisode): number {
  return other.score - one.score || (one.hit.id < other.hit.id ? -1 : 1);
}

/** Turns a leg's scores into standard deviations from their mean; what the leg did not find counts as its worst. */
function standardise(scores: Map<string, number>): (id: string) => number {
  const values = [...scores.values()];
  if (values.length === 0) return () => 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length) || 1;
  const worst = (Math.min(...values) - mean) / deviation;
  return (id) => {
    const value = scores.get(id);
    return value === undefined ? worst : (value - mean) / deviation;
  };
}

/**
 * The root of BM25 with a share of the better neighbour's, for every hit. The root, because BM25 has a long upper end: the one hit with a rare
 * word of the question would be so many deviations above the others that no meaning comes up against it.
 */
function wordScores(
  hits: Iterable<SearchHit>,
  words: Map<string, number>,
  { neighbour, neighbourOfOwn = Infinity }: RankingWeights,
): Map<string, number> {
  const following = new Map<string, string>();
  const all = [...hits];
  for (const { id, previousId } of all) if (previousId) following.set(previousId, id);
  const result = new Map<string, number>();
  for (const { id, previousId } of all) {
    const before = previousId ? (words.get(previousId) ?? 0) : 0;
    const after = words.get(following.get(id) ?? "") ?? 0;
    const own = words.get(id) ?? 0;
    const share = neighbour * Math.max(before, after);
    const score = own + (neighbourOfOwn === Infinity ? share : Math.min(share, neighbourOfOwn * own));
    if (score > 0) result.set(id, Math.sqrt(score));
  }
  return result;
}

/**
 * Puts the hits of keyword and vector search into one order, best first. Scores are fused, not ranks: equal-weight rank fusion lowers
 * recall below keywords alone (benchmarks/README.md, recall).
 */
export function rankEpisodes({ wordHits, vectorHits, weights, now, time }: EpisodesToRank): RankedEpisode[] {
  const hits = new Map([...vectorHits, ...wordHits].map((hit) => [hit.id, hit]));
  const words = new Map(wordHits.map(({ id, score }) => [id, score]));
  const cosines = new Map(vectorHits.map(({ id, score }) => [id, score]));
  const wordScore = standardise(wordScores(hits.values(), words, weights));
  const vectorScore = standardise(cosines);
  const ofTime = time?.kind === "span" ? (weights.span ?? weights.time) : weights.time;

  const ranked = [...hits.values()].map((hit): RankedEpisode => {
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
