import type { AgentRunStore } from "../stores/postgres/agents/agent-run-store.ts";
import { type AgentCatalog, findAgent, NO_AGENTS } from "../agents/catalog/agent-catalog.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { toAppError } from "../errors/app-error.ts";
import type { KnowledgeBase, KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { type Agent, narrowed } from "../turn/agent.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import { RetrievalMode, type ConversationState, type ConversationUpdate, type RouteDecision, GENERAL } from "../turn/state.ts";
import { retryWhileUnreachable } from "../stores/postgres/turns/turn-lease.ts";
import type { EmbeddingRoute } from "./routing/route-by-embedding.ts";
import { type AgentRoute, routeToAgent } from "./routing/route-to-agent.ts";
import { AMONG_BASES } from "./routing/route-by-model.ts";
import { amongAgents, makeRouters, type RoutedMessage, type RouterParts } from "./routing/routers.ts";
import { makeDecision, routeBySharedWords, routeByWords } from "./routing/route-by-words.ts";

/** Milliseconds between two looks at a conversation that another turn has. */
const BUSY_MS = 100;
/** A surer route by meaning needs no model. */
const CLEAR = 0.8;

export interface RouteParts extends RouterParts {
  knowledge: KnowledgeCatalog;
  /** Default: none besides the assistant. */
  agents?: AgentCatalog;
  /** Default: no conversation was handed to an agent. */
  runs?: Pick<AgentRunStore, "activeIn">;
}

const toRouted = ({ tenantId, message }: ConversationState, { context }: TurnRuntime): RoutedMessage => {
  return { tenantId, message, signal: context?.signal, onError: context?.onError };
};

/** `path`: the lead and its member, where the lead's strategy chose it. */
interface ChosenAgent extends Pick<AgentRoute, "agent" | "reason"> {
  path?: string[];
}

/** An agent is its own worker. */
function toUpdate(decision: RouteDecision, { agent, reason, path = [] }: ChosenAgent, bases: readonly KnowledgeBase[], began: number) {
  const agentType = RetrievalMode.parse(decision.worker_name.slice(decision.kb_prefix.length + 1));
  const routeDecision = agent ? { ...decision, worker_name: `agent:${agent.name}`, reason: `${reason}; ${decision.reason}` } : decision;
  return {
    agent,
    agentPath: path,
    routeDecision,
    kbPrefix: decision.kb_prefix,
    workerName: routeDecision.worker_name,
    agentType,
    kbInstructions: bases.find(({ prefix }) => prefix === decision.kb_prefix)?.instructions ?? "",
    useRetrieval: decision.kb_prefix !== GENERAL && agentType !== "chat_agent",
    routingMs: millisecondsSince(began),
    error: null,
  };
}

/** The knowledge base that the agent names but its tenant lacks, or null. A file is the same for all tenants. */
function missingBase({ requestedKbPrefix }: ConversationState, agent: Agent | null, bases: readonly KnowledgeBase[]): string | null {
  const named = requestedKbPrefix === null ? (agent?.knowledge ?? null) : null;
  return bases.some(({ prefix }) => prefix === named) ? null : named;
}

/** The base that the caller, else the agent, names; null: the turn is routed. Agents and resumed turns ignore a deleted base. */
function baseOf(
  { requestedKbPrefix }: ConversationState,
  agent: Agent | null,
  { bases, goesOn }: { bases: readonly KnowledgeBase[]; goesOn: boolean },
): string | null {
  if (!goesOn && (requestedKbPrefix !== null || agent?.knowledge === undefined)) return requestedKbPrefix;
  const wanted = goesOn ? requestedKbPrefix : agent?.knowledge;
  return bases.find(({ prefix }) => prefix === wanted)?.prefix ?? GENERAL;
}

/**
 * Picks the knowledge base and the worker. It sets `error` instead of throwing: history runs beside it and may already hold the
 * conversation, which persist releases.
 */
export function makeRoute(parts: RouteParts): Node {
  const { knowledge, agents = NO_AGENTS, runs } = parts;
  const routers = makeRouters(parts);
  const { byEmbedding, byModel } = routers;

  /** The agent to which the conversation was handed, once no other turn has the conversation: that one may still hand it on. */
  async function activeAgent(state: ConversationState, { context }: TurnRuntime): Promise<string | null> {
    for (;;) {
      const found = await runs?.activeIn(state, context?.turnId ?? null);
      if (!found?.isBusy) return found?.agent ?? null;
      await sleep(BUSY_MS, undefined, { signal: context?.signal });
    }
  }

  /** The agent that the caller named, to which the conversation was handed, or that fits the message; null for the assistant. */
  async function findAgentOf(state: ConversationState, agents: readonly Agent[], runtime: TurnRuntime): Promise<ChosenAgent> {
    const { message, requestedAgent } = state;
    if (requestedAgent !== null) return { agent: findAgent(agents, requestedAgent), reason: "the caller named it" };
    // Whoever names a knowledge base or a kind of search asks the assistant.
    if (agents.length === 0 || state.requestedKbPrefix !== null) return { agent: null, reason: "" };
    const active = agents.some(({ handoffs }) => handoffs.length > 0) ? await activeAgent(state, runtime) : null;
    const agent = agents.find(({ name }) => name === active);
    if (agent) return { agent, reason: "the conversation was handed to it" };
    return routeToAgent(message, agents, amongAgents(routers, toRouted(state, runtime)));
  }

  /** The agent of the turn: where a lead's strategy is to choose one, the member that fits best. */
  async function chooseAgent(state: ConversationState, agents: readonly Agent[], runtime: TurnRuntime): Promise<ChosenAgent> {
    const { resumed } = runtime.context ?? {};
    const [leadName, memberName] = resumed ? state.agentPath : [];
    if (leadName !== undefined && memberName !== undefined) {
      const lead = agents.find(({ name }) => name === leadName);
      const member = findAgent(agents, memberName);
      return { agent: member && lead ? narrowed(member, lead) : member, reason: "it goes on", path: state.agentPath };
    }
    const found = await findAgentOf(state, agents, runtime);
    const { agent: lead, reason } = found;
    if (lead?.team.strategy !== "single" || resumed) return found;
    const members = agents.filter(({ name }) => lead.subagents.includes(name) && name !== lead.name);
    if (members.length === 0) return found;
    const { agent: member, reason: why } = await routeToAgent(state.message, members, amongAgents(routers, toRouted(state, runtime)));
    if (!member) return { ...found, reason: `${reason}; of its team ${why}` };
    return {
      ...found,
      agent: narrowed(member, lead),
      path: [lead.name, member.name],
      reason: `${reason}; of its team "${member.name}": ${why}`,
    };
  }

  /** Clear words decide, else a sure embedding, else the router model; if that fails the words, or on a tie of keywords the embedding. */
  async function decide(
    state: ConversationState,
    bases: KnowledgeBase[],
    requested: string | null,
    runtime: TurnRuntime,
  ): Promise<RouteDecision> {
    const { message, agentType } = state;
    const routed = toRouted(state, runtime);
    const asked = { message, agentType, bases };
    const { decision: byWords, candidates } = routeByWords({ ...asked, requested });
    if (candidates.length === 0) return byWords;
    const isTie = byWords.method === "rule";
    let near: EmbeddingRoute | null = null;
    const withoutMeaning = (): RouteDecision =>
      near === null && byEmbedding && !isTie ? (routeBySharedWords({ ...asked, bases: candidates }) ?? byWords) : byWords;
    if (byEmbedding) near = await byEmbedding(routed, candidates, isTie);
    if (byModel && (near?.confidence ?? 0) < CLEAR) {
      const answer = await byModel(routed, AMONG_BASES, bases);
      if (answer)
        return makeDecision(answer.name, asked, {
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
      const lists = () => Promise.all([knowledge.list(state.tenantId), agents.list(state.tenantId)]);
      const [bases, known] = await retryWhileUnreachable(lists, runtime.context?.signal);
      const chosen = await chooseAgent(state, known, runtime);
      const earlier = runtime.context?.resumed?.state.routeDecision;
      const requested = baseOf(state, chosen.agent, { bases, goesOn: earlier !== undefined });
      const update = toUpdate(await decide(state, bases, requested, runtime), chosen, bases, began);
      if (earlier) return { ...update, routeDecision: earlier, workerName: earlier.worker_name };
      const begins = { namesAgent: state.requestedAgent !== null, handedTo: null };
      emit(runtime, { status: "route_decision", content: update.routeDecision });
      const missing = missingBase(state, chosen.agent, bases);
      if (missing !== null) {
        const message = `The agent "${chosen.agent?.name}" is to answer from the knowledge base "${missing}", which does not exist. It answers without documents.`;
        emit(runtime, { status: "notice", content: { code: "knowledge_missing", message } });
      }
      const { kb_prefix, worker_name, method, confidence } = update.routeDecision;
      runtime.note?.({ kb_prefix, worker_name, method, confidence, knowledge_bases: bases.length });
      return { ...update, ...begins };
    } catch (thrown) {
      const error = toAppError(thrown);
      runtime.context?.onError?.(error);
      const { message, agentType } = state;
      const { decision } = routeByWords({ message, requested: GENERAL, agentType, bases: [] });
      return { ...toUpdate(decision, { agent: null, reason: "" }, [], began), error: error.toContent() };
    }
  };
}
