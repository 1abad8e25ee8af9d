import type { BaseMessage } from "@langchain/core/messages";
import { addFeatures, ESTIMATED_TOKENS, noFeatures } from "../../text/token-features.ts";
import { TOKENS_PER_MESSAGE } from "../../text/tokens.ts";
import { hasPictures, pictureTokensIn } from "../wire/pictured-message.ts";

/** The counted kinds: of texts, then messages, then estimated tokens of tools. */
const PARTS = ESTIMATED_TOKENS.length + 2;

/** Sums of servers' counts of a model's prompts, from which `fit` finds the factors. */
export interface CountedPrompts {
  samples: number;
  /** The weight of all samples: older and doubted ones count less. */
  weight: number;
  /** The sums of products of shares, for each two kinds, row by row. */
  products: number[];
  /** The sums of the shares of each kind. */
  shares: number[];
}

export interface CountedRequest {
  messages: readonly BaseMessage[];
  /** Estimated tokens of the offered tools. Default 0. */
  toolTokens?: number;
}

/** Estimated tokens by kind. */
function estimatedParts({ messages, toolTokens = 0 }: CountedRequest): Float64Array {
  const features = noFeatures();
  for (const message of messages) {
    addFeatures(features, message.text);
    if ("tool_calls" in message && Array.isArray(message.tool_calls) && message.tool_calls.length > 0)
      addFeatures(features, JSON.stringify(message.tool_calls));
  }
  const parts = new Float64Array(PARTS);
  for (const [kind, tokens] of ESTIMATED_TOKENS.entries()) parts[kind] = (features[kind] ?? 0) * tokens;
  parts[PARTS - 2] = messages.length * TOKENS_PER_MESSAGE;
  parts[PARTS - 1] = toolTokens;
  return parts;
}

/** How firmly a factor stays at the common one without samples against it. */
const FIRMNESS = 0.01;
/** Older samples count less: a server may have another model under the name. */
const KEPT = 0.998;
const [LEAST_FACTOR, MOST_FACTOR] = [0.2, 5];
/** A count further off than the first share counts less and less; from the second on nothing. */
const [DOUBTED, REFUSED] = [0.1, 0.5];
/** Fewer samples say nothing; with the second number each kind gets its own factor. */
const [LEAST_SAMPLES, ENOUGH_SAMPLES] = [3, 10];
/** Counts further off do not follow from the prompts: some servers count only uncached tokens. */
const MOST_ERROR = 0.15;
/** After so many refused in a row the model has changed. */
const CHANGED_AFTER = 8;

const nothing = (): CountedPrompts => ({
  samples: 0,
  weight: 0,
  products: Array<number>(PARTS * PARTS).fill(0),
  shares: Array<number>(PARTS).fill(0),
});

/** Solves the symmetric positive definite system by elimination. */
function solve(matrix: readonly number[], vector: readonly number[]): number[] {
  const rows = vector.map((value, row) => [...matrix.slice(row * PARTS, (row + 1) * PARTS), value]);
  for (let pivot = 0; pivot < PARTS; pivot++) {
    const top = rows[pivot] ?? [];
    for (let row = pivot + 1; row < PARTS; row++) {
      const line = rows[row] ?? [];
      const factor = (line[pivot] ?? 0) / (top[pivot] ?? 1);
      if (factor === 0) continue;
      for (let column = pivot; column <= PARTS; column++) line[column] = (line[column] ?? 0) - factor * (top[column] ?? 0);
    }
  }
  const found = Array<number>(PARTS).fill(0);
  for (let row = PARTS - 1; row >= 0; row--) {
    const line = rows[row] ?? [];
    let value = line[PARTS] ?? 0;
    for (let column = row + 1; column < PARTS; column++) value -= (line[column] ?? 0) * (found[column] ?? 0);
    found[row] = value / (line[row] ?? 1);
  }
  return found;
}

const clamp = (factor: number): number => Math.min(MOST_FACTOR, Math.max(LEAST_FACTOR, factor));
const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The root mean square error of these factors. */
function errorOf(factors: readonly number[], { products, shares, weight }: CountedPrompts): number {
  const squares = products.map((sum, index) => sum * (factors[Math.floor(index / PARTS)] ?? 0) * (factors[index % PARTS] ?? 0));
  const square = total(squares) - 2 * total(shares.map((sum, kind) => sum * (factors[kind] ?? 0))) + weight;
  return Math.sqrt(Math.max(0, square) / weight);
}

/**
 * The factor from each kind's estimate to the server's count, by least squares drawn to one factor for all. Null while too little is known,
 * or the counts do not follow from the prompts.
 */
function fit(counted: CountedPrompts): number[] | null {
  if (counted.samples < LEAST_SAMPLES) return null;
  const one = clamp(total(counted.shares) / total(counted.products));
  const same = Array<number>(PARTS).fill(one);
  if (counted.samples < ENOUGH_SAMPLES) return errorOf(same, counted) <= MOST_ERROR ? same : null;
  const matrix = counted.products.map((value, index) => value + (index % (PARTS + 1) === 0 ? FIRMNESS : 0));
  const vector = counted.shares.map((value) => value + FIRMNESS * one);
  const factors = solve(matrix, vector).map(clamp);
  return errorOf(factors, counted) <= MOST_ERROR ? factors : null;
}

interface Learned {
  counted: CountedPrompts;
  factors: number[] | null;
  refusedInARow: number;
}

const learnedFrom = (counted: CountedPrompts): Learned => ({ counted, factors: fit(counted), refusedInARow: 0 });

/** Counts prompts' tokens as each model's server does, as far as it has shown. */
export interface TokenCounts {
  /** Without a sample of the model: the estimate. */
  count(model: string, request: CountedRequest): number;
  learn(model: string, request: CountedRequest, tokens: number): void;
  /** Whether it counts otherwise than the estimate. */
  knows(model: string): boolean;
}

export interface TokenCountsParts {
  stored?: readonly { model: string; counted: CountedPrompts }[];
  save?: (model: string, counted: CountedPrompts) => void;
}

/** Samples between two savings. */
const SAVED_EVERY = 20;

const sumOf = (parts: Float64Array, factors: readonly number[] | null = null): number =>
  parts.reduce((sum, part, kind) => sum + part * (factors?.[kind] ?? 1), 0);

const isUsable = ({ samples, products, shares }: CountedPrompts): boolean =>
  samples > 0 && products.length === PARTS * PARTS && shares.length === PARTS;

export function makeTokenCounts({ stored = [], save = () => undefined }: TokenCountsParts = {}): TokenCounts {
  const models = new Map(stored.filter(({ counted }) => isUsable(counted)).map(({ model, counted }) => [model, learnedFrom(counted)]));

  /** 0 to 1. */
  function beliefIn(learned: Learned, parts: Float64Array, tokens: number): number {
    const ratio = tokens / sumOf(parts);
    if (ratio < LEAST_FACTOR || ratio > MOST_FACTOR) return 0;
    if (!learned.factors) return 1;
    const off = Math.abs(sumOf(parts, learned.factors) / tokens - 1);
    if (off > REFUSED) return 0;
    return off > DOUBTED ? DOUBTED / off : 1;
  }

  return {
    knows: (model) => (models.get(model)?.factors ?? null) !== null,
    count(model, request) {
      const words = Math.ceil(sumOf(estimatedParts(request), models.get(model)?.factors ?? null));
      return words + pictureTokensIn(request.messages);
    },
    learn(model, request, tokens) {
      if (hasPictures(request.messages)) return; // how many of them are words is unknown
      const parts = estimatedParts(request);
      let learned = models.get(model) ?? learnedFrom(nothing());
      const belief = tokens > 0 ? beliefIn(learned, parts, tokens) : 0;
      if (belief === 0) {
        if (++learned.refusedInARow < CHANGED_AFTER) return;
        learned = learnedFrom(nothing());
      }
      const { counted } = learned;
      const shares = [...parts].map((part) => part / tokens);
      const next: CountedPrompts = {
        samples: counted.samples + 1,
        weight: counted.weight * KEPT + (belief || 1),
        products: counted.products.map((sum, index) => {
          const product = (shares[Math.floor(index / PARTS)] ?? 0) * (shares[index % PARTS] ?? 0);
          return sum * KEPT + product * (belief || 1);
        }),
        shares: counted.shares.map((sum, kind) => sum * KEPT + (shares[kind] ?? 0) * (belief || 1)),
      };
      models.set(model, learnedFrom(next));
      if (next.samples === LEAST_SAMPLES || next.samples % SAVED_EVERY === 0) save(model, next);
    },
  };
}
