import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { toAppError } from "../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import type { KnowledgeBase, KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { TURN_DEFAULTS, emit, type TurnRuntime } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import { AgentType, type ConversationState, type ConversationUpdate, type RouteDecision } from "../turn/state.ts";
import { retryWhileUnreachable } from "./turn-lease.ts";
import type { Node } from "./node.ts";
import { makeRouteByEmbedding, type EmbeddingRoute, type RouteEmbedder } from "./routing/route-by-embedding.ts";
import { makeRouteByModel } from "./routing/route-by-model.ts";
import { GENERAL, makeDecision, routeBySharedWords, routeByWords } from "./routing/route-by-words.ts";

/** A route by meaning as sure as this needs no model. */
const CLEAR = 0.8;

export interface RouteParts {
  knowledge: KnowledgeCatalog;
  /** Null: no route by meaning. */
  embedder?: RouteEmbedder | null;
  /** Asked when meaning is not clear. */
  routerModel?: BaseChatModel | null;
  /** For the embedder, and again for the router model. Default 800. */
  timeoutMs?: number;
  observer?: Observer;
}

function toUpdate(decision: RouteDecision, bases: readonly KnowledgeBase[], began: number): ConversationUpdate {
  const agentType = AgentType.parse(decision.worker_name.slice(decision.kb_prefix.length + 1));
  return {
    routeDecision: decision,
    kbPrefix: decision.kb_prefix,
    workerName: decision.worker_name,
    agentType,
    kbInstructions: bases.find(({ prefix }) => prefix === decision.kb_prefix)?.instructions ?? "",
    useRetrieval: decision.kb_prefix !== GENERAL && agentType !== "chat_agent",
    routingMs: millisecondsSince(began),
    error: null,
  };
}

/**
 * Picks the knowledge base and the worker. It sets `error` instead of throwing: history runs beside it and may already hold the
 * conversation, which persist releases.
 */
export function makeRoute(parts: RouteParts): Node {
  const { knowledge, embedder = null, routerModel = null, observer = NOOP_OBSERVER } = parts;
  const { timeoutMs = TURN_DEFAULTS.memoryReadTimeoutMs } = parts;
  const byEmbedding = embedder && makeRouteByEmbedding(embedder, { timeoutMs, observer });
  const byModel = routerModel && makeRouteByModel(routerModel, { timeoutMs, observer });

  /** Clear words decide, else a sure embedding, else the router model; if that fails the words, or on a tie of keywords the embedding. */
  async function decide(state: ConversationState, bases: KnowledgeBase[], runtime: TurnRuntime): Promise<RouteDecision> {
    const { tenantId, message, requestedKbPrefix: requested, agentType } = state;
    const asked = { message, agentType, bases };
    const { decision: byWords, candidates } = routeByWords({ ...asked, requested });
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
    let near: EmbeddingRoute | null = null;
    const withoutMeaning = (): RouteDecision =>
      near === null && byEmbedding && !isTie ? (routeBySharedWords({ ...asked, bases: candidates }) ?? byWords) : byWords;
    if (byEmbedding) near = await attempt(() => byEmbedding({ tenantId, message, bases: candidates, isTie, signal }));
    if (byModel && (near?.confidence ?? 0) < CLEAR) {
      const answer = await attempt(() => byModel({ message, bases, signal }));
      if (answer)
        return makeDecision(answer.kb_prefix, asked, {
          ...answer,
          method: "llm",
          reason: answer.reason || "the router model chose it",
        });
      if (!isTie) return withoutMeaning();
    }
    if (!near) return withoutMeaning();
    if (near.prefix !== null) return makeDecision(near.prefix, asked, { ...near, method: "embedding" });
    return makeDecision(GENERAL, asked, { ...near, method: "default", reason: `no knowledge base is near enough; ${near.reason}` });
  }

  return async function route(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const began = performance.now();
    try {
      // History may have stored the message by now.
      const bases = await retryWhileUnreachable(() => knowledge.list(state.tenantId), runtime.context?.signal);
      const decision = await decide(state, bases, runtime);
      emit(runtime, { status: "route_decision", content: decision });
      const { kb_prefix, worker_name, method, confidence } = decision;
      runtime.note?.({ kb_prefix, worker_name, method, confidence, knowledge_bases: bases.length });
      return toUpdate(decision, bases, began);
    } catch (thrown) {
      const error = toAppError(thrown);
      runtime.context?.onError?.(error);
      const { message, agentType } = state;
      const { decision } = routeByWords({ message, requested: GENERAL, agentType, bases: [] });
      return { ...toUpdate(decision, [], began), error: error.toContent() };
    }
  };
}
