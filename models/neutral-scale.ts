import type { Script } from "../text/script-of.ts";

/** A text's vector, and the script that it is compared within. */
export interface ScriptVector {
  script: Script;
  vector: ArrayLike<number>;
}

/** How near neutral sentences are to one vector: the mean cosine in each script, and the standard deviation of both together. */
export interface NeutralScale {
  means: Readonly<Record<Script, number>>;
  deviation: number;
}

const MIN_DEVIATION = 1e-3;

export const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Of vectors of length 1. */
export function cosineOf(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let place = 0; place < one.length; place++) sum += (one[place] ?? 0) * (other[place] ?? 0);
  return sum;
}

/** An embedder puts texts in a vector's own script nearer to it, so each script has a mean of its own. */
export function neutralScale(vector: ArrayLike<number>, neutral: readonly ScriptVector[]): NeutralScale {
  const near = neutral.map((sentence) => ({ script: sentence.script, cosine: cosineOf(vector, sentence.vector) }));
  const meanIn = (script: Script): number => meanOf(near.flatMap((one) => (one.script === script ? [one.cosine] : [])));
  const means = { han: meanIn("han"), other: meanIn("other") };
  const squares = near.map(({ script, cosine }) => (cosine - means[script]) ** 2);
  return { means, deviation: Math.max(MIN_DEVIATION, Math.sqrt(meanOf(squares))) };
}
