import { TURN_DEFAULTS } from "../turn/defaults.ts";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { toAppError } from "../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import type { KnowledgeBase, KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { ConversationState, ConversationUpdate, RouteDecision } from "../turn/state.ts";
import { retryWhileStorageIsAway } from "./turn-lease.ts";
import type { Node } from "./node.ts";
import { makeRouteByEmbedding, type EmbeddingRoute, type RouteEmbedder } from "./routing/route-by-embedding.ts";
import { makeRouteByModel } from "./routing/route-by-model.ts";
import { GENERAL, routeByWords } from "./routing/route-by-words.ts";

/** A route by meaning of this confidence needs no model. */
const CLEAR = 0.8;

/** What routing goes by. */
export interface RouteParts {
  knowledge: KnowledgeCatalog;
  /** Null: no route by meaning. Share one that caches a turn's question with retrieve, so that it is embedded once. */
  embedder?: RouteEmbedder | null;
  /** Null: nothing is asked when meaning is not clear. */
  routerModel?: BaseChatModel | null;
  /** Milliseconds for the embedder, and as many again for the router model. Default 800. */
  timeoutMs?: number;
  /** Hears of the router model's calls and of the circuits. Default: nobody. */
  observer?: Observer;
}

function toUpdate(decision: RouteDecision, began: number): ConversationUpdate {
  return {
    routeDecision: decision,
    kbPrefix: decision.kb_prefix,
    workerName: decision.worker_name,
    useRetrieval: decision.kb_prefix !== GENERAL && !decision.worker_name.endsWith(":chat_agent"),
    routingMs: millisecondsSince(began),
    error: null,
  };
}

/**
 * Picks the knowledge base and the worker. An unknown requested base, or a catalog that fails, ends in `error` instead of a throw: history
 * runs beside this node and may already hold the conversation, which persist then gives back.
 */
export function makeRoute({
  knowledge,
  embedder = null,
  routerModel = null,
  timeoutMs = TURN_DEFAULTS.memoryReadTimeoutMs,
  observer = NOOP_OBSERVER,
}: RouteParts): Node {
  const byEmbedding = embedder && makeRouteByEmbedding(embedder, { timeoutMs, observer });
  const byModel = routerModel && makeRouteByModel(routerModel, { timeoutMs, observer });

  /** Clear words decide, else a sure embedding, else the router model. If that model fails, the route by words stays; on a keyword tie the embedding decides. */
  async function decide(state: ConversationState, bases: KnowledgeBase[], runtime: TurnRuntime): Promise<RouteDecision> {
    const { tenantId, message, requestedKbPrefix: requested, agentType } = state;
    const { decision: byWords, candidates } = routeByWords({ message, requested, agentType, bases });
    if (candidates.length === 0) return byWords;
    const { signal, onError } = runtime.context ?? {};
    const isTie = byWords.method === "rule";
    const attempt = async <Answer>(ask: () => Promise<Answer>): Promise<Answer | null> =>
      signal?.aborted
        ? null
        : ask().catch((error: unknown) => {
            onError?.(toAppError(error));
            return null;
          });
    const to = (kb_prefix: string, method: RouteDecision["method"], confidence: number, reason: string): RouteDecision => {
      return { kb_prefix, worker_name: `${kb_prefix}:${agentType}`, confidence, method, reason };
    };

    let near: EmbeddingRoute | null = null;
    if (byEmbedding) near = await attempt(() => byEmbedding({ tenantId, message, bases: candidates, isTie, signal }));
    if (byModel && (near?.confidence ?? 0) < CLEAR) {
      const answer = await attempt(() => byModel({ message, bases, signal }));
      if (answer) return to(answer.kb_prefix, "llm", answer.confidence, answer.reason || "the router model chose it");
      if (!isTie) return byWords;
    }
    if (!near) return byWords;
    if (near.prefix !== null) return to(near.prefix, "embedding", near.confidence, near.reason);
    return to(GENERAL, "default", near.confidence, `no knowledge base is near enough; ${near.reason}`);
  }

  return async function route(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const began = performance.now();
    try {
      // History may have stored the message by now, so a Postgres that is away is no reason to fail.
      const bases = await retryWhileStorageIsAway(() => knowledge.list(state.tenantId), runtime.context?.signal);
      const decision = await decide(state, bases, runtime);
      emit(runtime, { status: "route_decision", content: decision });
      const { kb_prefix, worker_name, method, confidence } = decision;
      runtime.note?.({ kb_prefix, worker_name, method, confidence, knowledge_bases: bases.length });
      return toUpdate(decision, began);
    } catch (thrown) {
      const error = toAppError(thrown);
      runtime.context?.onError?.(error);
      const { message, agentType } = state;
      const { decision } = routeByWords({ message, requested: GENERAL, agentType, bases: [] });
      return { ...toUpdate(decision, began), error: error.toContent() };
    }
  };
}
