import type { ConversationState, ConversationUpdate, RouteDecision } from "../../../turn/state.ts";
import type { AppError } from "../../../errors/app-error.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { makeRoute, type RouteParts } from "../../../nodes/route.ts";
import { makeFixedKnowledgeCatalog, type KnowledgeBase } from "../../../stores/knowledge-catalog.ts";

export const TWO_BASES: KnowledgeBase[] = [
  {
    prefix: "travel",
    description: "Travel rules: flights, hotels, trains",
    keywords: ["flight", "hotel", "train"],
    titles: ["Travel handbook"],
  },
  { prefix: "finance", description: "财务报销制度：发票、报销期限", keywords: ["报销", "发票"], titles: ["报销制度"] },
];

export type Routed = { decision: RouteDecision; update: ConversationUpdate; errors: AppError[] };

/** Runs the route node on a message, with two bases unless others are given. */
export function makeRouter({
  bases = TWO_BASES,
  routerUrl,
  ...parts
}: Omit<Partial<RouteParts>, "knowledge" | "routerModel"> & { bases?: KnowledgeBase[]; routerUrl?: string } = {}) {
  const routerModel = routerUrl === undefined ? null : createOpenAIChatModel({ model: "test-router", baseUrl: routerUrl });
  const route = makeRoute({ knowledge: makeFixedKnowledgeCatalog(bases), routerModel, ...parts });
  return async (message: string, fields: Partial<ConversationState> = {}, signal?: AbortSignal): Promise<Routed> => {
    const errors: AppError[] = [];
    const state = { tenantId: "t", message, requestedKbPrefix: null, requestedAgent: null, agentType: null, ...fields };
    const update = await route(state as ConversationState, { context: { signal, onError: (error) => void errors.push(error) } });
    return { decision: update.routeDecision as RouteDecision, update, errors };
  };
}
