import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { toAppError } from "../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { ConversationState, ConversationUpdate, RouteDecision } from "../turn/state.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { makeChooseRoute } from "./routing/choose-route.ts";
import { decideRoute, GENERAL } from "./routing/route-by-words.ts";
import type { Node } from "./node.ts";
import { makeRouteByEmbedding, type RouteEmbedder } from "./routing/route-by-embedding.ts";
import { makeRouteByModel } from "./routing/route-by-model.ts";
import { retryWhileStorageIsAway } from "./hold-turn.ts";

/** What routing goes by. */
export interface RouteParts {
  knowledge: KnowledgeCatalog;
  /** Null: no route by meaning. Share one that remembers a turn's question with retrieve, so that it is embedded once. */
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
 * Picks the knowledge base and the worker. An unknown requested one, or a catalog that fails, ends in `error`, not in a throw: history
 * runs beside this node and may already hold the conversation, which persist then gives back.
 */
export function makeRoute({ knowledge, embedder = null, routerModel = null, timeoutMs = 800, observer = NOOP_OBSERVER }: RouteParts): Node {
  const chooseRoute = makeChooseRoute({
    byEmbedding: embedder && makeRouteByEmbedding({ embedder, timeoutMs, observer }),
    byModel: routerModel && makeRouteByModel({ model: routerModel, timeoutMs, observer }),
  });
  return async function route(
    { tenantId, message, requestedKbPrefix, agentType }: ConversationState,
    runtime: TurnRuntime,
  ): Promise<ConversationUpdate> {
    const began = performance.now();
    const onError = (thrown: unknown): void => runtime.context?.onError?.(toAppError(thrown));
    const signal = runtime.context?.signal;
    try {
      // History may have stored the message by now, so a Postgres that is away is no reason to fail.
      const bases = await retryWhileStorageIsAway(() => knowledge.list(tenantId), signal);
      const question = { tenantId, message, requested: requestedKbPrefix, agentType, bases, signal };
      const decision = await chooseRoute({ ...question, onFailure: onError });
      emit(runtime, { status: "route_decision", content: decision });
      const { kb_prefix, worker_name, method, confidence } = decision;
      runtime.note?.({ kb_prefix, worker_name, method, confidence, knowledge_bases: bases.length });
      return toUpdate(decision, began);
    } catch (thrown) {
      onError(thrown);
      const fallback = decideRoute({ message, requested: GENERAL, agentType, bases: [] });
      return { ...toUpdate(fallback, began), error: toAppError(thrown).toContent() };
    }
  };
}
