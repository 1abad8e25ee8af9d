import { setTimeout as sleep } from "node:timers/promises";
import type { Observer } from "../observe/observer.ts";
import { abortable } from "../turn/deadlines.ts";

/** Embeds texts as vectors of length 1. Throws AppError `embedder_unavailable`. */
export interface Embedder {
  /** Recorded with the index. */
  readonly name: string;
  readonly dimensions: number;
  /** Weight of one standard deviation of cosine; one of BM25 has weight 1. */
  readonly vectorWeight: number;
  /** The least cosine of a text that answers a question without a common word. Default 0.5. */
  readonly minSimilarity?: number;
  /** A learned model: it puts texts in the question's script nearer. */
  readonly favoursScripts?: boolean;
  embedQuestion(text: string, signal?: AbortSignal): Promise<number[]>;
  embedPassages(texts: readonly string[], signal?: AbortSignal): Promise<number[][]>;
}

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

/** Most cached questions. */
const MAX_QUESTIONS = 200;

/** Embeds a question once for routing, episodes and documents. Callers that waited for a failed call ask again. */
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

/** Long enough for jobs claimed together to read their texts, in milliseconds. */
const GATHER_MS = 20;

/**
 * Embeds passages of several jobs in one call. If it fails, each asks by itself, so that no text fails the others. A caller that gives up
 * does not end the call.
 */
export function gatherPassages(embedder: Embedder): Embedder {
  let gathered: { texts: string[]; vectors: Promise<number[][]> } | null = null;

  async function embedGathered(): Promise<number[][]> {
    await sleep(GATHER_MS);
    const texts = gathered?.texts ?? [];
    gathered = null;
    return embedder.embedPassages(texts);
  }

  return {
    ...embedder,
    async embedPassages(texts, signal) {
      if (texts.length === 0) return [];
      gathered ??= { texts: [], vectors: embedGathered() };
      const call = gathered;
      const from = call.texts.length;
      call.texts.push(...texts);
      try {
        return (await abortable(() => call.vectors, signal)).slice(from, from + texts.length);
      } catch (error) {
        if (signal?.aborted || call.texts.length === texts.length) throw error;
        return embedder.embedPassages(texts, signal);
      }
    },
  };
}
