import type { Embedder } from "../../models/embedder.ts";
import { cosineOf, meanOf, neutralScale, type ScriptVector } from "../../models/neutral-scale.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { loadNeutralVectors } from "../../models/neutral-scale.ts";
import { scriptOf } from "../../text/script-of.ts";

/** The vectors of the neutral sentences, and of each base's description, keywords and titles. */
export interface BaseVectors {
  neutral: ScriptVector[];
  bases: { prefix: string; texts: ScriptVector[] }[];
}

const MAX_TITLES = 32;

function baseTexts({ description, keywords, titles = [] }: KnowledgeBase): string[] {
  return [description, keywords.join(", "), ...titles.slice(0, MAX_TITLES)].filter((text) => text.trim() !== "");
}

function toVector(text: string, vector: readonly number[] = []): ScriptVector {
  return { vector: Float32Array.from(vector), script: scriptOf(text) };
}

/**
 * Loads the vectors of bases, embeds missing ones in one call, and keeps the `capacity` last used. Nothing stops a running call: a turn
 * that cannot wait leaves its vectors to the next.
 */
export function makeBaseVectors(
  embedder: Pick<Embedder, "embedPassages">,
  capacity = 1_024,
): (tenantId: string, bases: readonly KnowledgeBase[]) => Promise<BaseVectors> {
  /** Least recently used first, by tenant and texts. */
  const cache = new Map<string, Promise<ScriptVector[]>>();

  function embedMissing(groups: readonly { key: string; texts: readonly string[] }[]): void {
    const missing = groups.filter(({ key }) => !cache.has(key));
    const texts = missing.flatMap((group) => group.texts);
    const call = texts.length === 0 ? Promise.resolve([]) : embedder.embedPassages(texts);
    let end = 0;
    for (const group of missing) {
      const start = end;
      end += group.texts.length;
      const vectors = call.then((all) => group.texts.map((text, index) => toVector(text, all[start + index])));
      vectors.catch(() => cache.get(group.key) === vectors && cache.delete(group.key)); // the next turn asks again
      cache.set(group.key, vectors);
    }
  }

  function touch(key: string): Promise<ScriptVector[]> {
    const vectors = cache.get(key) ?? Promise.resolve([]);
    cache.delete(key);
    cache.set(key, vectors);
    return vectors;
  }

  return async function loadVectors(tenantId, bases) {
    const groups = bases.map((base) => ({ prefix: base.prefix, texts: baseTexts(base), key: JSON.stringify([tenantId, base]) }));
    embedMissing(groups);
    const loading = groups.map(async ({ prefix, key }) => ({ prefix, texts: await touch(key) }));
    for (const oldest of cache.keys()) if (cache.size > capacity) cache.delete(oldest);
    const [neutral, loaded] = await Promise.all([loadNeutralVectors(embedder), Promise.all(loading)]);
    return { neutral, bases: loaded };
  };
}

/** How near a question is to a base, in standard deviations of neutral sentences' nearness. */
export interface Nearness {
  prefix: string;
  nearness: number;
}

interface Spread {
  mean: number;
  deviation: number;
}

/** The number of a base's texts that count: a single one is often near by chance. */
const NEAREST_TEXTS = 2;
const MIN_DEVIATION = 1e-3;

const rootMeanSquare = (values: readonly number[]): number => Math.sqrt(meanOf(values.map((value) => value ** 2)));

function spreadOf(values: readonly number[]): Spread {
  const mean = meanOf(values);
  return { mean, deviation: rootMeanSquare(values.map((value) => value - mean)) };
}

/** Scores texts by cosine, in standard deviations above neutral sentences of the same script. */
function makeScorer(vector: ArrayLike<number>, neutral: readonly ScriptVector[]): (texts: readonly ScriptVector[]) => number {
  const { means, deviation } = neutralScale(vector, neutral);
  return (texts) => {
    const scores = texts.map((text) => (cosineOf(vector, text.vector) - means[text.script]) / deviation);
    return meanOf(scores.sort((one, another) => another - one).slice(0, NEAREST_TEXTS));
  };
}

/** Cached by the array of a base's vectors. */
const neutralSpreads = new WeakMap<readonly ScriptVector[], Spread>();

/** The neutral sentences' scores with each base, each measured against the others. */
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
 * How near a question is to each base, nearest first, measured against neutral sentences and their scores with that base. So the scale of
 * an embedder's cosines does not matter.
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
