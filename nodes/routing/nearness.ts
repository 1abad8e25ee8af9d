import type { BaseVectors, TextVector } from "./base-vectors.ts";

/** How near a question is to a base, in standard deviations of how near neutral sentences are to it. */
export interface Nearness {
  prefix: string;
  nearness: number;
}

interface Spread {
  mean: number;
  deviation: number;
}

/** So many of a base's nearest texts count: a single one is often near by chance. */
const NEAREST_TEXTS = 2;
/** Vectors with a smaller deviation have nothing in common. */
const MIN_DEVIATION = 1e-3;

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const rootMeanSquare = (values: readonly number[]): number => Math.sqrt(meanOf(values.map((value) => value ** 2)));

function spreadOf(values: readonly number[]): Spread {
  const mean = meanOf(values);
  return { mean, deviation: rootMeanSquare(values.map((value) => value - mean)) };
}

function cosine(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

/** Scores texts by their cosine to the vector, in standard deviations above the neutral sentences of the same script. */
function makeScorer(vector: ArrayLike<number>, neutral: readonly TextVector[]): (texts: readonly TextVector[]) => number {
  const spreadIn = (isHan: boolean): Spread =>
    spreadOf(neutral.filter((sentence) => sentence.isHan === isHan).map((sentence) => cosine(vector, sentence.vector)));
  const [han, other] = [spreadIn(true), spreadIn(false)];
  const unit = Math.max(MIN_DEVIATION, rootMeanSquare([han.deviation, other.deviation]));
  return (texts) => {
    const scores = texts.map((text) => (cosine(vector, text.vector) - (text.isHan ? han : other).mean) / unit);
    return meanOf(scores.sort((one, another) => another - one).slice(0, NEAREST_TEXTS));
  };
}

/** Cached scores of the neutral sentences. The key is the array of a base's vectors; changed texts make a new array. */
const neutralSpreads = new WeakMap<readonly TextVector[], Spread>();

/** What neutral sentences score with each base, every sentence measured against the others. */
function loadNeutralSpreads({ neutral, bases }: BaseVectors): Spread[] {
  if (bases.some(({ texts }) => !neutralSpreads.has(texts))) {
    const scorers = neutral.map(({ vector }, index) => makeScorer(vector, neutral.toSpliced(index, 1)));
    for (const { texts } of bases) {
      if (!neutralSpreads.has(texts)) neutralSpreads.set(texts, spreadOf(scorers.map((score) => score(texts))));
    }
  }
  return bases.map(({ texts }) => neutralSpreads.get(texts) ?? { mean: 0, deviation: 0 });
}

/**
 * How near a question is to each base, nearest first. The scale of an embedder's cosines does not matter: the question is measured against
 * neutral sentences, and its score against what these score with the same base.
 */
export function nearnessOf(question: readonly number[], vectors: BaseVectors): Nearness[] {
  const score = makeScorer(question, vectors.neutral);
  const expected = loadNeutralSpreads(vectors);
  const common = rootMeanSquare(expected.map(({ deviation }) => deviation));
  return vectors.bases
    .map(({ prefix, texts }, index) => {
      const { mean, deviation } = expected[index] ?? { mean: 0, deviation: 0 };
      const unit = rootMeanSquare([deviation, common]);
      return { prefix, nearness: unit < MIN_DEVIATION || texts.length === 0 ? 0 : (score(texts) - mean) / unit };
    })
    .sort((one, other) => other.nearness - one.nearness);
}
