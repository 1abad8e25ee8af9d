import { AppError } from "../../errors/app-error.ts";
import { makeCircuitBreaker } from "../../memory/recall/circuit-breaker.ts";
import type { Embedder } from "../../models/embedder.ts";
import type { Observer } from "../../observe/observer.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { tellsOfOneself } from "../../text/telling-or-asking.ts";
import { makeBaseVectors, type Nearness, nearnessOf } from "./nearness.ts";
import { KEYWORD_CONFIDENCE } from "./route-by-words.ts";

/** `embedQuestion` should cache: retrieve embeds the same text. */
export type RouteEmbedder = Pick<Embedder, "embedQuestion" | "embedPassages" | "name">;

export interface EmbeddingRoute {
  /** Null: none of the bases. */
  prefix: string | null;
  confidence: number;
  reason: string;
  /** All that are near enough, nearest first; none in a tie. */
  near?: { prefix: string; confidence: number }[];
}

const MIN_CONFIDENCE = 0.45;
const MAX_CONFIDENCE = 0.98;

/** A logistic curve of how often the nearest base is right, and of the rest the share for none: decision 32. */
const LEARNED_MODEL = { slope: 1.41, offset: -6.5, noneOfRest: 1 };
const BUILT_IN: typeof LEARNED_MODEL = { slope: 0.34, offset: -1.96, noneOfRest: 0.5 };
const IS_BUILT_IN = /^built-in/;
/** The weight of the lead over the second nearest base; nearness has 1. */
const LEAD_WEIGHT = 0.5;
const MAX_LEAD = 4;
const TIE_SLOPE = 1.29;

/** How likely the nearest base is right, and how likely none is. */
export function routeShares([first, second]: readonly Nearness[], embedder: string): { nearest: number; general: number } {
  const { slope, offset, noneOfRest } = IS_BUILT_IN.test(embedder) ? BUILT_IN : LEARNED_MODEL;
  const nearness = first?.nearness ?? 0;
  const lead = Math.min(MAX_LEAD, nearness - Math.max(0, second?.nearness ?? 0));
  const right = 1 / (1 + Math.exp(-(slope * (nearness + LEAD_WEIGHT * lead) + offset)));
  return { nearest: Math.min(MAX_CONFIDENCE, right), general: Math.min(MAX_CONFIDENCE, noneOfRest * (1 - right)) };
}

/** How likely the nearest of equally named bases is right: a softmax over nearness. */
function tieShare(nearest: readonly Nearness[]): number {
  const first = nearest[0]?.nearness ?? 0;
  return 1 / nearest.reduce((sum, { nearness }) => sum + Math.exp(TIE_SLOPE * (nearness - first)), 0);
}

/** Chooses the nearest base or none. `isTie`: the words name each of these bases, so none is no choice. */
export function chooseNearest(nearest: readonly Nearness[], { isTie, embedder }: { isTie: boolean; embedder: string }): EmbeddingRoute {
  const prefix = nearest[0]?.prefix ?? null;
  const named = nearest.slice(0, 2).map((base) => `"${base.prefix}" (${base.nearness.toFixed(1)})`);
  const reason = `nearest in meaning: ${named.join(", then ")}`;
  if (isTie) return { prefix, confidence: KEYWORD_CONFIDENCE * Math.min(MAX_CONFIDENCE, tieShare(nearest)), reason };
  const { nearest: right, general } = routeShares(nearest, embedder);
  if (right < MIN_CONFIDENCE) return { prefix: null, confidence: general, reason };
  const near = nearest.map((base) => {
    const others = nearest.filter((other) => other !== base);
    return { prefix: base.prefix, confidence: routeShares([base, ...others], embedder).nearest };
  });
  return { prefix, confidence: right, reason, near: near.filter(({ confidence }) => confidence >= MIN_CONFIDENCE) };
}

interface EmbeddingQuestion {
  tenantId: string;
  message: string;
  bases: readonly KnowledgeBase[];
  isTie: boolean;
  signal: AbortSignal | undefined;
}

/** Routes by meaning. Throws when the embedder gives no vectors within `timeoutMs`. */
export function makeRouteByEmbedding(
  embedder: RouteEmbedder,
  { timeoutMs, observer }: { timeoutMs: number; observer: Observer },
): (question: EmbeddingQuestion) => Promise<EmbeddingRoute> {
  const loadVectors = makeBaseVectors(embedder);
  const circuit = makeCircuitBreaker("router_embedder", observer);
  return async function routeByEmbedding({ tenantId, message, bases, isTie, signal: cancelled }) {
    if (!isTie && IS_BUILT_IN.test(embedder.name) && tellsOfOneself(message))
      return { prefix: null, confidence: MIN_CONFIDENCE, reason: "the message tells of its writer" };
    // It outlives this call: when one request fails, it still ends the other.
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = cancelled ? AbortSignal.any([cancelled, deadline]) : deadline;
    try {
      const embed = () => Promise.all([loadVectors(tenantId, bases), embedder.embedQuestion(message, signal)]);
      const [vectors, question] = await circuit(embed, signal);
      return chooseNearest(nearnessOf(question, vectors), { isTie, embedder: embedder.name });
    } catch (error) {
      if (!deadline.aborted || cancelled?.aborted) throw error;
      const problem = `The embedding model gave no vectors for routing within ${timeoutMs} ms. Try again, or raise MEMORY_READ_TIMEOUT_MS.`;
      throw new AppError("embedder_unavailable", problem, { cause: error });
    }
  };
}
