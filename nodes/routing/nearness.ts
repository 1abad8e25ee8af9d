import type { TextVector, VectorsOfBases } from "./base-vectors.ts";

/** How near a question is to a base, in deviations of how near neutral sentences are to it. */
export interface Nearness {
  prefix: string;
  nearness: number;
}

interface Spread {
  mean: number;
  deviation: number;
}

/** Of a base the two texts nearest to the question count: one alone is often near by chance. */
const COUNTED_TEXTS = 2;
/** Smaller deviations are those of vectors with nothing in common. */
const SMALLEST = 1e-3;

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { mean: 0, deviation: 0 };
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, deviation: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length) };
}

function cosine(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

const rootMeanSquare = (one: number, other: number): number => Math.sqrt((one ** 2 + other ** 2) / 2);

/** A vector's nearness to texts, as deviations from its cosine to the neutral sentences of the same script. */
function makeScorer(vector: ArrayLike<number>, neutral: readonly TextVector[]): (texts: readonly TextVector[]) => number {
  const cosines = neutral.map((sentence) => ({ isHan: sentence.isHan, value: cosine(vector, sentence.vector) }));
  const han = spreadOf(cosines.filter(({ isHan }) => isHan).map(({ value }) => value));
  const other = spreadOf(cosines.filter(({ isHan }) => !isHan).map(({ value }) => value));
  const unit = Math.max(SMALLEST, rootMeanSquare(han.deviation, other.deviation));
  return (texts) => {
    const scores = texts.map((text) => (cosine(vector, text.vector) - (text.isHan ? han : other).mean) / unit);
    const nearest = scores.sort((one, another) => another - one).slice(0, COUNTED_TEXTS);
    return spreadOf(nearest).mean;
  };
}

/** What the neutral sentences score, each measured against the others. */
function neutralScores({ neutral, bases }: VectorsOfBases): Spread[] {
  const scorers = neutral.map(({ vector }, index) => makeScorer(vector, neutral.toSpliced(index, 1)));
  return bases.map(({ texts }) => spreadOf(scorers.map((score) => score(texts))));
}

const known = new WeakMap<VectorsOfBases["bases"][number]["texts"], Spread>();

/** The same, each base once: its texts stay the same object as long as they do not change. */
function spreads(vectors: VectorsOfBases): Spread[] {
  const unknown = vectors.bases.filter(({ texts }) => !known.has(texts));
  if (unknown.length > 0)
    for (const [index, spread] of neutralScores({ ...vectors, bases: unknown }).entries()) known.set(unknown[index]?.texts ?? [], spread);
  return vectors.bases.map(({ texts }) => known.get(texts) ?? { mean: 0, deviation: 0 });
}

/**
 * How near a question is to each base, nearest first. Free of the embedder's scale twice over: cosines are counted in deviations of the
 * question's cosines to neutral sentences, and these again in deviations of what the neutral sentences themselves come to with that base.
 */
export function nearnessOf(question: readonly number[], vectors: VectorsOfBases): Nearness[] {
  const score = makeScorer(question, vectors.neutral);
  const expected = spreads(vectors);
  const common = Math.sqrt(spreadOf(expected.map(({ deviation }) => deviation ** 2)).mean);
  return vectors.bases
    .map(({ prefix, texts }, index) => {
      const { mean, deviation } = expected[index] ?? { mean: 0, deviation: 0 };
      const unit = rootMeanSquare(deviation, common);
      return { prefix, nearness: unit < SMALLEST || texts.length === 0 ? 0 : (score(texts) - mean) / unit };
    })
    .sort((one, other) => other.nearness - one.nearness);
}
