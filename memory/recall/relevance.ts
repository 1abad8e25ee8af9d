import type { RankedHit } from "./hybrid-search.ts";
import { WORD_WEIGHT } from "../../text/lexical-query.ts";

export interface MatcherParts {
  /** Everything the search found for the owner, which may be none of what is wanted. */
  found: number;
  /** The words searched for, as `lexicalQuery` gives them. */
  query: string;
  /** Cosine that is evidence without a word in common. */
  minSimilarity: number;
  /** The time that the question names. */
  time: { from: Date; until: Date } | null;
}

/** Share of the question's words that must be there, were each in one episode only. Its choice: benchmarks/README.md, recall. */
const MIN_SHARE = 0.15;
/** A message of many words asks for few of them: as if it had these. */
const MAX_WORDS = 4;

/**
 * Whether an episode says by itself that the question is about something that was said: its words come to enough, its meaning is near, or it
 * is of the time that the question names. One word that many episodes have, or one Chinese character, is no evidence: nearly every question
 * finds one such somewhere.
 *
 * BM25 has no upper end, so it is compared with what it would be had every word of the question one episode of those found. That makes the
 * share nearly independent of how much is indexed, and small where only little is: with three episodes any word may be the one.
 */
export function strongMatcher({ found, query, minSimilarity, time }: MatcherParts): (episode: RankedHit) => boolean {
  const weight = Math.min(query.split(" ").length, MAX_WORDS * WORD_WEIGHT);
  const weightOfRare = Math.log(1 + Math.max(0.5, found - 0.5) / 1.5); // BM25's idf of what one of so many has
  const enough = MIN_SHARE * weight * weightOfRare;
  return ({ hit, words, cosine }) => {
    if ((cosine ?? -1) >= minSimilarity) return true;
    if (time !== null && hit.createdAt >= time.from && hit.createdAt < time.until) return true;
    return words !== null && words >= enough;
  };
}

export interface RelevantParts {
  evidence: MatcherParts;
  /** The day that the question names: what was said on it belongs to the question, whatever its words. */
  day: { from: Date; until: Date } | null;
  /** Those that may be recalled at all. */
  isWanted: (episode: RankedHit) => boolean;
}

/**
 * The cosine from which an episode without a word in common belongs to the question: the one that is evidence by itself, or less, when what
 * convinces is less near than that on average. "Grandpa taught me to bake" has no word of a question about grandparents, yet is nearer to it
 * than what has; and how near texts are to each other is another matter with every embedder.
 */
function cosineThreshold(ranked: readonly RankedHit[], evidence: MatcherParts): number {
  const convincing = ranked.filter(strongMatcher({ ...evidence, time: null }));
  const cosines = convincing.flatMap(({ cosine }) => (cosine === null ? [] : [cosine]));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  return cosines.length === 0 ? evidence.minSimilarity : Math.min(evidence.minSimilarity, mean);
}

/**
 * What belongs to the question of all that a search found, in its order; nothing when none of it says by itself that the question is about
 * something that was said. One that convinces brings the others: what has little of the question alone may still belong to the answer.
 */
export function relevantEpisodes(ranked: readonly RankedHit[], { evidence, day, isWanted }: RelevantParts): RankedHit[] {
  const enough = cosineThreshold(ranked, evidence);
  const isOfDay = ({ hit }: RankedHit): boolean => day !== null && hit.createdAt >= day.from && hit.createdAt < day.until;
  const relevant = ranked.filter(
    (episode) => (episode.words !== null || (episode.cosine ?? -1) >= enough || isOfDay(episode)) && isWanted(episode),
  );
  return relevant.some(strongMatcher(evidence)) ? relevant : [];
}
