import { toAppError } from "../errors/app-error.ts";
import { millisecondsSince } from "../graph/milliseconds-since.ts";
import type { ConversationState, ConversationUpdate, RouteDecision } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import type { KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { decideRoute, GENERAL } from "./decide-route.ts";
import { emit } from "./emit.ts";
import type { Node } from "./measured.ts";

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
export function makeRoute({ knowledge }: { knowledge: KnowledgeCatalog }): Node {
  return async function route(
    { tenantId, message, requestedKbPrefix, agentType }: ConversationState,
    runtime: TurnRuntime,
  ): Promise<ConversationUpdate> {
    const began = performance.now();
    try {
      const bases = await knowledge.list(tenantId);
      const decision = decideRoute({ message, requested: requestedKbPrefix, agentType, bases });
      emit(runtime, { status: "route_decision", content: decision });
      return toUpdate(decision, began);
    } catch (thrown) {
      const error = toAppError(thrown);
      runtime.context?.onError?.(error);
      const fallback = decideRoute({ message, requested: GENERAL, agentType, bases: [] });
      return { ...toUpdate(fallback, began), error: error.toContent() };
    }
  };
}
