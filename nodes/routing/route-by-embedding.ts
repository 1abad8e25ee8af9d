import { AppError } from "../../errors/app-error.ts";
import { makeCircuitBreaker } from "../../memory/recall/circuit-breaker.ts";
import type { Embedder } from "../../models/embedder.ts";
import type { Observer } from "../../observe/observer.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { makeBaseVectors } from "./base-vectors.ts";
import { nearnessOf, type Nearness } from "./nearness.ts";
import { KEYWORD_CONFIDENCE } from "./route-by-words.ts";

/** What of an embedder routing uses. Its `embedQuestion` should cache: retrieve embeds the same text. */
export type RouteEmbedder = Pick<Embedder, "embedQuestion" | "embedPassages" | "name">;

/** The likeliest route by meaning. */
export interface EmbeddingRoute {
  /** Null: none of the bases. */
  prefix: string | null;
  confidence: number;
  reason: string;
}

/** Below it a base is not worth its search. */
const MIN_CONFIDENCE = 0.45;
const MAX_CONFIDENCE = 0.98;

/**
 * A logistic curve of how often the nearest base is right, and how often none is when that one is wrong. Fitted to half of the questions in
 * test/nodes/routing/routing-questions.tsv. The built-in embedder knows words only: that a question shares none says little.
 */
const LEARNED_MODEL = { slope: 1.41, offset: -6.5, noneOfRest: 1 };
const BUILT_IN: typeof LEARNED_MODEL = { slope: 0.34, offset: -1.96, noneOfRest: 0.5 };
const IS_BUILT_IN = /^built-in/;
/** Weight of the lead over the second nearest base (nearness has 1). A lead above MAX_LEAD adds nothing. */
const LEAD_WEIGHT = 0.5;
const MAX_LEAD = 4;
/** Slope of the softmax over nearness, for bases with equally many keywords in the message. */
const TIE_SLOPE = 1.29;

/** How likely the nearest base is right, and how likely none is. `embedder` is its name. */
export function routeShares([first, second]: readonly Nearness[], embedder: string): { nearest: number; general: number } {
  const { slope, offset, noneOfRest } = IS_BUILT_IN.test(embedder) ? BUILT_IN : LEARNED_MODEL;
  const nearness = first?.nearness ?? 0;
  const lead = Math.min(MAX_LEAD, nearness - Math.max(0, second?.nearness ?? 0));
  const right = 1 / (1 + Math.exp(-(slope * (nearness + LEAD_WEIGHT * lead) + offset)));
  return { nearest: Math.min(MAX_CONFIDENCE, right), general: Math.min(MAX_CONFIDENCE, noneOfRest * (1 - right)) };
}

/** How likely the nearest base is the one that the words mean, by a softmax over nearness. */
function tieShare(nearest: readonly Nearness[]): number {
  const first = nearest[0]?.nearness ?? 0;
  return 1 / nearest.reduce((sum, { nearness }) => sum + Math.exp(TIE_SLOPE * (nearness - first)), 0);
}

/** Chooses the nearest base or none. `isTie`: the words name each of these bases, so none is no choice. `embedder` is its name. */
export function chooseNearest(nearest: readonly Nearness[], { isTie, embedder }: { isTie: boolean; embedder: string }): EmbeddingRoute {
  const prefix = nearest[0]?.prefix ?? null;
  const named = nearest.slice(0, 2).map((base) => `"${base.prefix}" (${base.nearness.toFixed(1)})`);
  const reason = `nearest in meaning: ${named.join(", then ")}`;
  if (isTie) return { prefix, confidence: KEYWORD_CONFIDENCE * Math.min(MAX_CONFIDENCE, tieShare(nearest)), reason };
  const { nearest: right, general } = routeShares(nearest, embedder);
  return right >= MIN_CONFIDENCE ? { prefix, confidence: right, reason } : { prefix: null, confidence: general, reason };
}

export interface EmbeddingQuestion {
  tenantId: string;
  message: string;
  bases: readonly KnowledgeBase[];
  isTie: boolean;
  signal?: AbortSignal | undefined;
}

/** Routes by the nearness of the question's vector to those of the bases' texts. Throws when the embedder gives no vectors within `timeoutMs`. */
export function makeRouteByEmbedding(
  embedder: RouteEmbedder,
  { timeoutMs, observer }: { timeoutMs: number; observer: Observer },
): (question: EmbeddingQuestion) => Promise<EmbeddingRoute> {
  const loadVectors = makeBaseVectors(embedder);
  const circuit = makeCircuitBreaker("router_embedder", observer);
  return async function routeByEmbedding({ tenantId, message, bases, isTie, signal: cancelled }) {
    // It outlives this call: when one of the two requests fails, it still ends the other.
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
