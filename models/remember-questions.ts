import type { Embedder } from "./embedder.ts";

/** Questions that are kept: those of the turns that are under way, and some more. */
const KEPT = 200;

/**
 * The same embedder, asked once for a question that several parts of a turn want embedded: routing, episodes, documents. A failed or
 * cancelled call is not remembered; who waited for somebody else's asks anew.
 */
export function rememberQuestions(embedder: Embedder): Embedder {
  const kept = new Map<string, Promise<number[]>>();

  function ask(text: string, signal: AbortSignal | undefined): Promise<number[]> {
    const asked = embedder.embedQuestion(text, signal);
    kept.set(text, asked);
    asked.catch(() => kept.get(text) === asked && kept.delete(text));
    const [oldest] = kept.keys();
    if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
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
