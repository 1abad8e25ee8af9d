import type { Embedder } from "../../models/embedder.ts";
import { neutralScale } from "../../models/neutral-scale.ts";
import type { SearchHit } from "../../stores/search/contract/search-index.ts";
import { loadNeutralVectors } from "../../models/neutral-scale.ts";

export interface CosineScale {
  /** Comparable within one question, whatever the script of the hit. */
  nearness: (hit: SearchHit) => number;
  /** The nearness that recalls an exchange without a common word. */
  near: number;
}

export type ScaleCosines = (question: readonly number[]) => Promise<CosineScale>;

type ScaleParts = Pick<Embedder, "embedPassages" | "favoursScripts" | "minSimilarity">;

/** In standard deviations; see docs/decisions/0040. */
const NEAR = 2;
const DEFAULT_MIN_COSINE = 0.5;

/**
 * Makes cosines comparable where the embedder favours the question's script: in standard deviations above neutral sentences of the hit's
 * own script. `minCosine`: the least near cosine in the question's script; undefined: the embedder's.
 */
export function makeCosineScale(embedder: ScaleParts, minCosine: number | undefined): ScaleCosines {
  if (!embedder.favoursScripts) {
    const near = minCosine ?? embedder.minSimilarity ?? DEFAULT_MIN_COSINE;
    return async () => ({ nearness: ({ score }) => score, near });
  }
  void loadNeutralVectors(embedder).catch(() => undefined); // the first search asks again
  return async function scaleCosines(question) {
    const length = Math.hypot(...question) || 1;
    const direction = question.map((value) => value / length);
    const { means, deviation } = neutralScale(direction, await loadNeutralVectors(embedder));
    return {
      nearness: ({ score, script }) => (score - means[script]) / deviation,
      near: minCosine === undefined ? NEAR : (minCosine - Math.max(means.han, means.other)) / deviation,
    };
  };
}
