import type { Observer } from "../observe/observer.ts";

/** Turns texts into vectors of length 1 whose cosine says how alike two texts are. Calls throw AppError `embedder_unavailable`. */
export interface Embedder {
  /** Recorded with the index: another model's vectors mean nothing to it. */
  readonly name: string;
  /** Numbers in a vector. */
  readonly dimensions: number;
  /** What a standard deviation of cosine counts beside one of BM25 when the two are put together: less for weak vectors. */
  readonly vectorWeight: number;
  /** Cosine from which a text can be an answer to a question without a word in common; it differs from model to model. Default 0.5. */
  readonly minSimilarity?: number;
  /** What is searched for; models that tell questions from passages embed it their way. */
  embedQuestion(text: string, signal?: AbortSignal): Promise<number[]>;
  /** What is found, in the order of the texts, any number of them. */
  embedPassages(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>;
}

/** The same embedder, each of its calls watched under the name of the model that is asked. */
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

/** Questions that are kept: those of the turns that are under way, and some more. */
const MAX_QUESTIONS = 200;

/**
 * The same embedder, asked once for a question that several parts of a turn want embedded: routing, episodes, documents. A failed or
 * cancelled call is not remembered; who waited for somebody else's asks anew.
 */
export function cacheQuestionVectors(embedder: Embedder): Embedder {
  const kept = new Map<string, Promise<number[]>>();

  function ask(text: string, signal: AbortSignal | undefined): Promise<number[]> {
    const asked = embedder.embedQuestion(text, signal);
    kept.set(text, asked);
    asked.catch(() => kept.get(text) === asked && kept.delete(text));
    const [oldest] = kept.keys();
    if (kept.size > MAX_QUESTIONS && oldest !== undefined) kept.delete(oldest);
    return asked;
  }

  return {
    ...embedder,
    embedQuestion(text, signal) {
      const known = kept.get(text);
      if (!known) return ask(text, signal);
      return known.catch((error: unknown) => {
        if (signal?.aborted) throw error;
        return kept.get(text) ?? ask(text, signal);
      });
    },
  };
}
