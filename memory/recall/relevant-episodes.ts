import { convincingBy, type EvidenceParts } from "./convincing-by.ts";
import type { RankedEpisode } from "./rank-episodes.ts";

export interface RelevantParts {
  evidence: EvidenceParts;
  /** The day that the question names: what was said on it belongs to the question, whatever its words. */
  day: { from: Date; until: Date } | null;
  /** Those that may be recalled at all. */
  isWanted: (episode: RankedEpisode) => boolean;
}

/**
 * The cosine from which an episode without a word in common belongs to the question: the one that is evidence by itself, or less, when what
 * convinces is less near than that on average. "Grandpa taught me to bake" has no word of a question about grandparents, yet is nearer to it
 * than what has; and how near texts are to each other is another matter with every embedder.
 */
function nearEnough(ranked: readonly RankedEpisode[], evidence: EvidenceParts): number {
  const convincing = ranked.filter(convincingBy({ ...evidence, time: null }));
  const cosines = convincing.flatMap(({ cosine }) => (cosine === null ? [] : [cosine]));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  return cosines.length === 0 ? evidence.minSimilarity : Math.min(evidence.minSimilarity, mean);
}

/**
 * What belongs to the question of all that a search found, in its order; nothing when none of it says by itself that the question is about
 * something that was said. One that convinces brings the others: what has little of the question alone may still belong to the answer.
 */
export function relevantEpisodes(ranked: readonly RankedEpisode[], { evidence, day, isWanted }: RelevantParts): RankedEpisode[] {
  const enough = nearEnough(ranked, evidence);
  const isOfDay = ({ hit }: RankedEpisode): boolean => day !== null && hit.createdAt >= day.from && hit.createdAt < day.until;
  const relevant = ranked.filter(
    (episode) => (episode.words !== null || (episode.cosine ?? -1) >= enough || isOfDay(episode)) && isWanted(episode),
  );
  return relevant.some(convincingBy(evidence)) ? relevant : [];
}
