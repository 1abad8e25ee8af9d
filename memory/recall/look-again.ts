import type { Rerank } from "../../models/reranker.ts";
import type { Observer } from "../../observe/observer.ts";
import { makeCircuitBreaker } from "./circuit-breaker.ts";
import type { Neighbour } from "./fill-room.ts";

/** The hits that a reranker looks at. */
export const RERANKED = 25;

interface LookAgainParts {
  rerank: Rerank | undefined;
  observer: Observer;
  onError: (error: unknown, work: string) => void;
}

/** Puts the best hits into the reranker's order. The scores keep their places: a reranker's are of another kind. */
export function makeLookAgain({ rerank, observer, onError }: LookAgainParts) {
  const askReranker = makeCircuitBreaker("reranker", observer);
  return async function lookAgain<Hit extends { text: Pick<Neighbour, "userMessage" | "assistantMessage">; score: number }>(
    question: string,
    found: readonly Hit[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Hit[]> {
    const best = found.slice(0, RERANKED);
    if (!rerank || best.length < 2) return found;
    const texts = best.map(({ text }) => `${text.userMessage}\n${text.assistantMessage}`);
    const scores = await askReranker(() => rerank(question, texts, signal), signal).catch((error: unknown) =>
      onError(error, "the reranker"),
    );
    if (!scores) return found;
    const order = [...best.keys()].sort((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0) || one - other);
    return found.map((hit, place) => ({ ...(best[order[place] ?? -1] ?? hit), score: hit.score }));
  };
}
