import type { Observer } from "../observe/observer.ts";

/** Embeds texts as vectors of length 1 whose cosine says how alike they are. Throws AppError `embedder_unavailable`. */
export interface Embedder {
  /** Recorded with the index, which another model's vectors do not fit. */
  readonly name: string;
  /** Numbers in a vector. */
  readonly dimensions: number;
  /** Weight of one standard deviation of cosine; one of BM25 has weight 1. Weak embedders have less. */
  readonly vectorWeight: number;
  /** Least cosine of a text that answers a question without sharing a word; it differs by model. Default 0.5. */
  readonly minSimilarity?: number;
  /** Embeds a question; some models embed it differently from passages. */
  embedQuestion(text: string, signal?: AbortSignal): Promise<number[]>;
  /** Embeds passages: any number, in their order. */
  embedPassages(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>;
}

/** Wraps an embedder: the observer watches each call under the model's name. */
export function observedEmbedder(
  embedder: Embedder,
  { observer, model, questionModel = model }: { observer: Observer; model: string; questionModel?: string },
): Embedder {
  return {
    ...embedder,
    embedQuestion: (text, signal) =>
      observer.watch({ work: "model_call", purpose: "embed_question", model: questionModel }, () => embedder.embedQuestion(text, signal)),
    embedPassages: (texts, signal) =>
      observer.watch({ work: "model_call", purpose: "embed_passages", model }, () => embedder.embedPassages(texts, signal)),
  };
}

/** Most cached questions. An evicted question is embedded again. */
const MAX_QUESTIONS = 200;

/**
 * Wraps an embedder: a question that routing, episodes and documents of a turn want is embedded once. A failed or cancelled call is not cached, and
 * those that waited for it ask again.
 */
export function cacheQuestionVectors(embedder: Embedder): Embedder {
  const cache = new Map<string, Promise<number[]>>();

  function ask(text: string, signal: AbortSignal | undefined): Promise<number[]> {
    const asked = embedder.embedQuestion(text, signal);
    cache.set(text, asked);
    asked.catch(() => cache.get(text) === asked && cache.delete(text));
    const [oldest] = cache.keys();
    if (cache.size > MAX_QUESTIONS && oldest !== undefined) cache.delete(oldest);
    return asked;
  }

  return {
    ...embedder,
    embedQuestion(text, signal) {
      const known = cache.get(text);
      if (!known) return ask(text, signal);
      return known.catch((error: unknown) => {
        if (signal?.aborted) throw error;
        return cache.get(text) ?? ask(text, signal);
      });
    },
  };
}
