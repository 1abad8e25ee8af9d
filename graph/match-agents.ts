import { NO_AGENTS } from "../agents/catalog/agent-catalog.ts";
import { type AgentMatch, matchAgents } from "../nodes/routing/route-to-agent.ts";
import { amongAgents, makeRouters, type RoutedMessage } from "../nodes/routing/routers.ts";
import type { ConversationGraphParts } from "./create-conversation-graph.ts";

export type MatchAgents = (routed: RoutedMessage) => Promise<AgentMatch[]>;

/** Tells which agents fit a message: first the one to which it would be routed. It stores nothing. */
export function makeMatchAgents({ agents, routing, observer }: ConversationGraphParts): MatchAgents {
  const { catalog } = agents ?? { catalog: NO_AGENTS };
  const routers = makeRouters({ ...routing, ...(observer ? { observer } : {}) });
  return async function matchMessage(routed) {
    return matchAgents(routed.message, await catalog.list(routed.tenantId), amongAgents(routers, routed));
  };
}
