import { WORD_WEIGHT } from "../../text/lexical-query.ts";
import type { RankedHit } from "./rank-hits.ts";

export interface MatcherParts {
  found: number;
  query: string;
  /** The cosine that is a strong match by itself. */
  minSimilarity: number;
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
/** More words of a question count no more. */
const MAX_WORDS = 4;

/** The relevant hits in their order; none unless one is a strong match, which brings the weaker ones with it. */
export function relevantEpisodes(ranked: readonly RankedHit[], { match, day, isWanted }: RelevantParts): RankedHit[] {
  const minCosine = cosineThreshold(ranked, match);
  const relevant = ranked.filter((hit) => (hit.words !== null || (hit.cosine ?? -1) >= minCosine || isWithin(day, hit)) && isWanted(hit));
  return relevant.some(strongMatcher(match)) ? relevant : [];
}

/**
 * Tests whether a hit alone shows that the question is about something said before: by words, meaning or time. BM25 has no upper end, so it
 * is compared with that of a hit which alone has every word of the question.
 */
export function strongMatcher({ found, query, minSimilarity, time }: MatcherParts): (hit: RankedHit) => boolean {
  const weight = Math.min(query.split(" ").length, MAX_WORDS * WORD_WEIGHT);
  const rarestIdf = Math.log(1 + Math.max(0.5, found - 0.5) / 1.5); // BM25's idf
  const minBm25 = MIN_SHARE * weight * rarestIdf;
  return (hit) => (hit.cosine ?? -1) >= minSimilarity || isWithin(time, hit) || (hit.words !== null && hit.words >= minBm25);
}

/**
 * The cosine from which a hit without a word in common is relevant: `minSimilarity`, or the mean of the strong matches if that is lower.
 * Cosines differ from embedder to embedder.
 */
function cosineThreshold(ranked: readonly RankedHit[], match: MatcherParts): number {
  const strong = ranked.filter(strongMatcher({ ...match, time: null }));
  const cosines = strong.flatMap(({ cosine }) => (cosine === null ? [] : [cosine]));
  if (cosines.length === 0) return match.minSimilarity;
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  return Math.min(match.minSimilarity, mean);
}

function isWithin(time: { from: Date; until: Date } | null, { hit }: RankedHit): boolean {
  return time !== null && hit.createdAt >= time.from && hit.createdAt < time.until;
}
