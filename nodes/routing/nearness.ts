import type { TextVector, VectorsOfBases } from "./base-vectors.ts";

/** A share that grows with a figure: 1 / (1 + e^-(slope · figure + offset)). */
interface Curve {
  slope: number;
  offset: number;
}

/** Of an embedder: how often the nearest base was right at a margin, and how often none was at a nearness. */
interface Calibration {
  right: Curve;
  general: Curve;
}

/**
 * Logistic curves through the questions of the chosen half that no keyword decides (benchmarks/README.md, routing). Margins have no scale,
 * so one fits every model; the built-in embedder has its own, since it knows words only: that none is shared says little.
 */
const LEARNED: Calibration = { right: { slope: 1.41, offset: -6.5 }, general: { slope: -2.34, offset: 7.47 } };
const BUILT_IN: Calibration = { right: { slope: 0.34, offset: -1.96 }, general: { slope: -0.28, offset: -0.1 } };
const BUILT_IN_NAME = /^built-in/;
/** Of two bases that the words name as often: the share of the nearer one, by how much nearer it is. */
const OF_TWO: Curve = { slope: 1.29, offset: 0 };

/** A lead beyond this makes no base more likely. */
const LARGEST_LEAD = 4;
/** What the lead over the second nearest counts beside the nearness itself. */
const LEAD_WEIGHT = 0.5;
/** No share was measured on enough questions to say more. */
const MOST = 0.98;

/** 23 of 24 questions of the chosen half; less, as keywords are not always chosen with care. */
export const RULE_CONFIDENCE = 0.9;
export const SMALL_TALK_CONFIDENCE = 0.98;
/** Without anything to go by but that no keyword is there: 22 of 59. */
export const DEFAULT_CONFIDENCE = 0.4;

/** The shares of questions for which the nearest base, or none, was right. */
export interface RouteShares {
  nearest: number;
  general: number;
}

function shareAt({ slope, offset }: Curve, figure: number): number {
  return Math.min(MOST, 1 / (1 + Math.exp(-(slope * figure + offset))));
}

function leadOf([nearest, second]: readonly Nearness[]): number {
  return Math.min(LARGEST_LEAD, (nearest?.nearness ?? 0) - Math.max(0, second?.nearness ?? 0));
}

/** What the nearest base's nearness and its lead come to. */
export function marginOf(nearest: readonly Nearness[]): number {
  return (nearest[0]?.nearness ?? 0) + LEAD_WEIGHT * leadOf(nearest);
}

/** How likely the nearest base is right, and how likely it is that none is. `embedder`: its name. */
export function routeShares(nearest: readonly Nearness[], embedder: string): RouteShares {
  const { right, general } = BUILT_IN_NAME.test(embedder) ? BUILT_IN : LEARNED;
  return { nearest: shareAt(right, marginOf(nearest)), general: shareAt(general, nearest[0]?.nearness ?? 0) };
}

/** How likely the nearest is right of bases that the message's words name as often: no less than a guess. */
export function tieConfidence(nearest: readonly Nearness[]): number {
  const lead = (nearest[0]?.nearness ?? 0) - (nearest[1]?.nearness ?? 0);
  return RULE_CONFIDENCE * Math.max(1 / Math.max(1, nearest.length), nearest.length === 2 ? shareAt(OF_TWO, lead) : 0);
}

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
