import { WORD_WEIGHT } from "../../text/lexical-query.ts";
import type { RankedEpisode } from "./rank-episodes.ts";

export interface EvidenceParts {
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
export function convincingBy({ found, query, minSimilarity, time }: EvidenceParts): (episode: RankedEpisode) => boolean {
  const weight = Math.min(query.split(" ").length, MAX_WORDS * WORD_WEIGHT);
  const weightOfRare = Math.log(1 + Math.max(0.5, found - 0.5) / 1.5); // BM25's idf of what one of so many has
  const enough = MIN_SHARE * weight * weightOfRare;
  return ({ hit, words, cosine }) => {
    if ((cosine ?? -1) >= minSimilarity) return true;
    if (time !== null && hit.createdAt >= time.from && hit.createdAt < time.until) return true;
    return words !== null && words >= enough;
  };
}
