import type { SearchHit } from "../../stores/search/contract/search-index.ts";
import { WORD_WEIGHT } from "../../text/lexical-text.ts";
import type { QuestionTime } from "../../text/time-of-question.ts";

/** Waits for both legs of a search. A failing leg has no hits; `degraded` is true and `onError` gets the reason and the leg. */
export async function searchBoth(
  words: Promise<SearchHit[]>,
  vectors: Promise<SearchHit[]>,
  onError: (error: unknown, leg: string) => void,
) {
  let degraded = false;
  const failed =
    (leg: string) =>
    (error: unknown): SearchHit[] => {
      degraded = true;
      onError(error, leg);
      return [];
    };
  const [wordHits, vectorHits] = await Promise.all([words.catch(failed("by words")), vectors.catch(failed("by meaning"))]);
  return { wordHits, vectorHits, degraded };
}

/** What each thing adds to a score, in standard deviations of the root of BM25. */
export interface RankingWeights {
  /** A standard deviation of cosine; a property of the embedder. */
  vector: number;
  /** The share of its better neighbour's BM25 that an exchange gets. */
  neighbour: number;
  /** The limit of that share, in units of the own BM25. */
  neighbourOfOwn: number;
  /** How far a cosine rises towards that of a nearer neighbour within an hour, 0 to 1. */
  neighbourMeaning: number;
  /** The word score of a hit without words, as a share of the worst. */
  wordless: number;
  /** The bonus for the day that the question names. Other days still hold a quarter of the answers. */
  time: number;
  /** The bonus for its week, month or year. */
  span: number;
  importance: number;
  recency: number;
}

export interface HitsToRank {
  wordHits: readonly SearchHit[];
  vectorHits: readonly SearchHit[];
  weights: RankingWeights;
  now: Date;
  time: QuestionTime | null;
}

export interface RankedHit {
  hit: SearchHit;
  /** Comparable within one search only. */
  score: number;
  /** BM25 and nearness; null when the hit is not of that leg. */
  words: number | null;
  nearness: number | null;
}

const RECENCY_HALF_LIFE_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Relative: closer scores are equal. */
const ROUNDING = 1e-9;
const ONE_TALK_MS = 60 * 60 * 1_000;

/** Puts the hits of both legs into one order, best first. It fuses scores, not ranks: see docs/decisions/0012. */
export function rankHits({ wordHits, vectorHits, weights, now, time }: HitsToRank): RankedHit[] {
  const hits = new Map([...vectorHits, ...wordHits].map((hit) => [hit.id, hit]));
  const words = new Map(wordHits.map(({ id, score }) => [id, score]));
  const cosines = new Map(vectorHits.map(({ id, score }) => [id, score]));
  const neighbours = makeNeighbours(hits);
  const trust = neighbourTrust(vectorHits, cosines);
  const wordScore = standardise(
    wordScores(wordHits, neighbours, words, { ...weights, neighbour: trust * weights.neighbour }),
    weights.wordless,
  );
  const vectorScore = standardise(meaningScores(vectorHits, neighbours, cosines, trust * weights.neighbourMeaning), 1);
  const ofTime = time?.kind === "span" ? weights.span : weights.time;

  const ranked = [...hits.values()].map((hit): RankedHit => {
    const isOfTime = time !== null && hit.createdAt >= time.from && hit.createdAt < time.until;
    const ageDays = Math.max(0, (now.getTime() - hit.createdAt.getTime()) / DAY_MS);
    const score =
      wordScore(hit.id) +
      weights.vector * vectorScore(hit.id) +
      (isOfTime ? ofTime : 0) +
      weights.importance * Number(hit.attributes["importance"] ?? 0.5) +
      weights.recency * 0.5 ** (ageDays / RECENCY_HALF_LIFE_DAYS);
    return { hit, score, words: words.get(hit.id) ?? null, nearness: cosines.get(hit.id) ?? null };
  });
  return ranked.sort(bestFirst);
}

/** Hits that are looked at next when some are left out. */
const SPARE = 10;

/** The best `limit` hits with existing texts on a path. Loads further hits only when some are left out. */
export async function loadBest<Text extends { id: string }>(
  ranked: readonly RankedHit[],
  limit: number,
  load: (some: readonly RankedHit[]) => Promise<Text[]>,
): Promise<(RankedHit & { text: Text })[]> {
  const texts = await load(ranked.slice(0, limit));
  for (let from = limit, count = SPARE; texts.length < limit && from < ranked.length; from += count, count *= 4) {
    texts.push(...(await load(ranked.slice(from, from + count))));
  }
  const textOf = new Map(texts.map((text) => [text.id, text]));
  return ranked
    .flatMap((episode) => {
      const text = textOf.get(episode.hit.id);
      return text ? [{ ...episode, text }] : [];
    })
    .slice(0, limit);
}

export function bestFirst(one: RankedHit, other: RankedHit): number {
  return other.score - one.score || (one.hit.id < other.hit.id ? -1 : 1);
}

/**
 * Scores as standard deviations from their mean. A missing score is `missing` times the worst; if all are equal, the worst counts as -1.
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

function makeNeighbours(hits: Map<string, SearchHit>): (hit: SearchHit) => SearchHit[] {
  const following = new Map<string, SearchHit>();
  for (const hit of hits.values()) if (hit.previousId) following.set(hit.previousId, hit);
  return ({ id, previousId }) => [previousId ? hits.get(previousId) : undefined, following.get(id)].filter((hit) => hit !== undefined);
}

/** Fewer pairs tell nothing. */
const LEAST_PAIRS = 10;
/** Real talk has 0.2, unrelated notes 0: docs/decisions/0040. */
const FULL_TRUST = 0.05;

/** Whether neighbours share a topic, 0 to 1: the correlation between their cosines. */
function neighbourTrust(hits: readonly SearchHit[], cosines: Map<string, number>): number {
  const pairs = hits.flatMap(({ previousId, score }) => {
    const before = previousId === null ? undefined : cosines.get(previousId);
    return before === undefined ? [] : [[before, score] as const];
  });
  if (pairs.length < LEAST_PAIRS) return 1;
  const mean = (value: (pair: readonly [number, number]) => number): number =>
    pairs.reduce((sum, pair) => sum + value(pair), 0) / pairs.length;
  const [before, after] = [mean(([one]) => one), mean(([, other]) => other)];
  const together = mean(([one, other]) => (one - before) * (other - after));
  const apart = Math.sqrt(mean(([one]) => (one - before) ** 2) * mean(([, other]) => (other - after) ** 2));
  return Math.min(1, Math.max(0, together / (apart || 1) / FULL_TRUST));
}

type Neighbours = ReturnType<typeof makeNeighbours>;

/** The root of each hit's BM25 with a share of its better neighbour's. The root keeps one rare word from outweighing any meaning. */
function wordScores(
  hits: readonly SearchHit[],
  neighbours: Neighbours,
  words: Map<string, number>,
  { neighbour, neighbourOfOwn }: RankingWeights,
): Map<string, number> {
  const withShare = (hit: SearchHit): number => {
    const better = Math.max(0, ...neighbours(hit).map(({ id }) => words.get(id) ?? 0));
    return hit.score + Math.min(neighbour * better, neighbourOfOwn * hit.score);
  };
  return new Map(hits.map((hit) => [hit.id, Math.sqrt(withShare(hit))]));
}

/** Each hit's cosine, raised towards a nearer neighbour's: "I bought it in Paris" means the thing named just before. */
function meaningScores(
  hits: readonly SearchHit[],
  neighbours: Neighbours,
  cosines: Map<string, number>,
  share: number,
): Map<string, number> {
  const lifted = (hit: SearchHit): number => {
    const inTalk = neighbours(hit).filter(({ createdAt }) => Math.abs(createdAt.getTime() - hit.createdAt.getTime()) <= ONE_TALK_MS);
    const nearest = Math.max(hit.score, ...inTalk.map(({ id }) => cosines.get(id) ?? hit.score));
    return hit.score + share * (nearest - hit.score);
  };
  return new Map(hits.map((hit) => [hit.id, lifted(hit)]));
}

export interface MatcherParts {
  found: number;
  query: string;
  /** The nearness that is a strong match by itself. */
  near: number;
  time: { from: Date; until: Date } | null;
}

export interface RelevantParts {
  match: MatcherParts;
  /** Whatever was said on this day is relevant. */
  day: { from: Date; until: Date } | null;
  isWanted: (hit: RankedHit) => boolean;
}

/** The share of the highest possible BM25 that is a strong match: docs/decisions/0012. */
const MIN_SHARE = 0.15;
const MAX_WORDS = 4;

/** The relevant hits in order. Weaker ones need a strong match beside them. */
export function relevantEpisodes(ranked: readonly RankedHit[], { match, day, isWanted }: RelevantParts): RankedHit[] {
  const least = leastNearness(ranked, match);
  const relevant = ranked.filter((hit) => (hit.words !== null || isNear(hit, least) || isWithin(day, hit)) && isWanted(hit));
  return relevant.some(strongMatcher(match)) ? relevant : [];
}

/**
 * Tests whether one hit shows that the question is about something said before, by words, meaning or time. BM25 has no upper end, so it is
 * compared with a hit that alone has every word.
 */
export function strongMatcher({ found, query, near, time }: MatcherParts): (hit: RankedHit) => boolean {
  const weight = Math.min(query.split(" ").length, MAX_WORDS * WORD_WEIGHT);
  const rarestIdf = Math.log(1 + Math.max(0.5, found - 0.5) / 1.5); // BM25's idf
  const minBm25 = MIN_SHARE * weight * rarestIdf;
  return (hit) => isNear(hit, near) || isWithin(time, hit) || (hit.words !== null && hit.words >= minBm25);
}

function isNear({ nearness }: RankedHit, least: number): boolean {
  return nearness !== null && nearness >= least;
}

/** The nearness that makes a hit without common words relevant: `near`, or the mean of the strong matches if lower. */
function leastNearness(ranked: readonly RankedHit[], match: MatcherParts): number {
  const strong = ranked.filter(strongMatcher({ ...match, time: null }));
  const nearness = strong.flatMap((hit) => hit.nearness ?? []);
  if (nearness.length === 0) return match.near;
  const mean = nearness.reduce((sum, value) => sum + value, 0) / nearness.length;
  return Math.min(match.near, mean);
}

function isWithin(time: { from: Date; until: Date } | null, { hit }: RankedHit): boolean {
  return time !== null && hit.createdAt >= time.from && hit.createdAt < time.until;
}
