import type { RouteDecision } from "../../turn/state.ts";
import type { EmbeddingRoute } from "./nearness.ts";
import { GENERAL, type RouteQuestion, ruleRoute } from "./route-by-words.ts";
import type { RouteByEmbedding } from "./route-by-embedding.ts";
import type { RouteByModel, RouterAnswer } from "./route-by-model.ts";

export interface ChooseRouteParts {
  /** Null: there is no embedder. */
  byEmbedding: RouteByEmbedding | null;
  /** Null: no router model is configured. */
  byModel: RouteByModel | null;
}

export interface ChooseQuestion extends RouteQuestion {
  tenantId: string;
  signal?: AbortSignal | undefined;
  /** Hears what kept the embedder or the model from answering: routing goes on without. */
  onFailure: (error: unknown) => void;
}

/**
 * The route of a turn: by request or words when these are clear, then by meaning, then, when that is not clear either, by the router model.
 * A model that was asked and gave no answer leaves the words' route, most often none: its base would be a guess. Throws as `decideRoute` does.
 */
export function makeChooseRoute({ byEmbedding, byModel }: ChooseRouteParts): (question: ChooseQuestion) => Promise<RouteDecision> {
  return async function chooseRoute(question) {
    const { tenantId, message, agentType, bases, signal, onFailure } = question;
    const { decision: ruled, open } = ruleRoute(question);
    if (open.length === 0) return ruled;
    const isTie = ruled.method === "rule";
    const attempt = async <Answer>(work: () => Promise<Answer>): Promise<Answer | null> => {
      if (signal?.aborted) return null;
      return work().catch((error: unknown) => {
        onFailure(error);
        return null;
      });
    };
    const decided = (prefix: string | null, method: RouteDecision["method"], confidence: number, reason: string): RouteDecision => {
      const kb_prefix = prefix ?? GENERAL;
      return { kb_prefix, worker_name: `${kb_prefix}:${agentType}`, confidence, method, reason };
    };

    let near: EmbeddingRoute | null = null;
    if (byEmbedding) near = await attempt(() => byEmbedding({ tenantId, message, bases: open, isTie, signal }));
    if (byModel && !near?.isClear) {
      const answer: RouterAnswer | null = await attempt(() => byModel({ message, bases, signal }));
      if (answer) return decided(answer.kb_prefix, "llm", answer.confidence, answer.reason || "the router model chose it");
      if (!isTie) return { ...ruled, confidence: near?.confidenceOfNone ?? ruled.confidence };
    }
    if (!near) return ruled;
    if (near.prefix !== null) return decided(near.prefix, "embedding", near.confidence, near.reason);
    return decided(null, "default", near.confidence, `no knowledge base is near enough; ${near.reason}`);
  };
}
