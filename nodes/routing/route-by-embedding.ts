import { AppError } from "../../errors/app-error.ts";
import { makeCircuitBreaker } from "../../memory/recall/circuit-breaker.ts";
import type { Embedder } from "../../models/embedder.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { makeBaseVectors } from "./base-vectors.ts";
import { chooseNearest, type EmbeddingRoute, nearnessOf } from "./nearness.ts";

/** What of an embedder routing uses. Its `embedQuestion` should remember the turn's question: retrieve embeds the same text. */
export type RouteEmbedder = Pick<Embedder, "embedQuestion" | "embedPassages" | "name">;

export interface EmbeddingQuestion {
  tenantId: string;
  message: string;
  /** Those to choose from. */
  bases: readonly KnowledgeBase[];
  /** The message's words name one of these: none of them is no choice. */
  isTie: boolean;
  signal?: AbortSignal | undefined;
}

export type RouteByEmbedding = (question: EmbeddingQuestion) => Promise<EmbeddingRoute>;

/**
 * Routes by the nearness of the question's vector to those of the bases' texts. Throws when the embedder gives no vectors within
 * `timeoutMs`; one that failed three times in a row is left alone for a while.
 */
export function makeRouteByEmbedding({
  embedder,
  timeoutMs,
  observer = NOOP_OBSERVER,
}: {
  embedder: RouteEmbedder;
  timeoutMs: number;
  observer?: Observer;
}): RouteByEmbedding {
  const loadVectors = makeBaseVectors(embedder);
  const circuit = makeCircuitBreaker("router_embedder", observer);
  return async function routeByEmbedding({ tenantId, message, bases, isTie, signal: cancelled }) {
    // Not one that ends with this call: when one of the two fails, the other is left alone, and must end all the same.
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = cancelled ? AbortSignal.any([cancelled, deadline]) : deadline;
    try {
      const vectors = (): Promise<[Awaited<ReturnType<typeof loadVectors>>, number[]]> =>
        Promise.all([loadVectors(tenantId, bases), embedder.embedQuestion(message, signal)]);
      const [known, question] = await circuit(vectors, signal);
      return chooseNearest(nearnessOf(question, known), { isTie, embedder: embedder.name });
    } catch (error) {
      if (!deadline.aborted || cancelled?.aborted) throw error;
      const words = `The embedding model gave no vectors for routing within ${timeoutMs} ms. Try again, or raise MEMORY_READ_TIMEOUT_MS.`;
      throw new AppError("embedder_unavailable", words, { cause: error });
    }
  };
}
