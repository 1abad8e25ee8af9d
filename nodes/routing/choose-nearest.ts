import type { Nearness } from "./nearness.ts";
import { routeShares, tieConfidence } from "./routing-confidence.ts";

/** The likeliest route by meaning. */
export interface EmbeddingRoute {
  /** Null: none of the bases. */
  prefix: string | null;
  confidence: number;
  /** How likely it is that none of the bases is right. */
  confidenceOfNone: number;
  /** Nothing further needs to be asked. */
  isClear: boolean;
  reason: string;
}

/** From here a model is not asked: 36 of 39 such questions of the chosen half are right (e5). */
const CLEAR = 0.8;
/** Below it no base is worth its search. Two wrong bases less on the chosen half (built in), one right one less (e5). */
const LEAST = 0.4;

function described(nearest: readonly Nearness[]): string {
  const [first, second] = nearest.map(({ prefix, nearness }) => `"${prefix}" (${nearness.toFixed(1)})`);
  return second === undefined ? `nearest in meaning: ${first}` : `nearest in meaning: ${first}, then ${second}`;
}

/** What nearness says of a route. `isTie`: it must be one of these bases; `embedder`: its name. */
export function chooseNearest(nearest: readonly Nearness[], { isTie, embedder }: { isTie: boolean; embedder: string }): EmbeddingRoute {
  const first = nearest[0];
  const reason = described(nearest);
  if (!first) return { prefix: null, confidence: 0, confidenceOfNone: 0, isClear: false, reason };
  if (isTie) {
    const confidence = tieConfidence(nearest);
    return { prefix: first.prefix, confidence, confidenceOfNone: 1 - confidence, isClear: confidence >= CLEAR, reason };
  }
  const shares = routeShares(nearest, embedder);
  const takesBase = shares.nearest > shares.general && shares.nearest >= LEAST;
  const confidence = takesBase ? shares.nearest : shares.general;
  const isClear = confidence >= CLEAR;
  return { prefix: takesBase ? first.prefix : null, confidence, confidenceOfNone: shares.general, isClear, reason };
}
