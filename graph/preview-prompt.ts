import { StateGraph, START, END } from "@langchain/langgraph";
import { NO_AGENTS } from "../agents/catalog/agent-catalog.ts";
import { NO_SKILLS } from "../agents/skills/skill-catalog.ts";
import { AppError } from "../errors/app-error.ts";
import { agentPromptOf, equipAgent } from "../agents/loop/agent-prompt.ts";
import { teamTools } from "../agents/members/team-tools.ts";
import { questionIds, seenByLead } from "../agents/loop/window-with-steps.ts";
import { leaveOutOldOutputs, toolTokens } from "../agents/loop/fit-loop.ts";
import { usableCoreMemory } from "../prompt/turn-prompt.ts";
import { makeKnowledgeHandlers } from "../nodes/generate-kb.ts";
import { promptNotices, promptOf } from "../prompt/turn-prompt.ts";
import { firstChoice } from "../models/model-choice.ts";
import { makeReadHistory } from "../nodes/history.ts";
import type { AssembledPrompt } from "../prompt/assemble-prompt.ts";
import type { OwnedConversation } from "../turn/owner.ts";
import { makeStepStore } from "../stores/postgres/agents/step-store.ts";
import { ASSISTANT } from "../turn/agent.ts";
import { TurnContext } from "../turn/context.ts";
import type { Notice } from "../turn/events.ts";
import { ConversationState, type Layer, type Receipt, type RouteDecision } from "../turn/state.ts";
import { chooseGenerator } from "./build-graph.ts";
import { type ConversationGraphParts, makeReading, promptSettings } from "./create-conversation-graph.ts";

export interface PreviewRequest extends OwnedConversation {
  sessionId: string;
  message: string;
  requestedAgent?: string | null;
  requestedKbPrefix?: string | null;
}

/** What a prompt has no room for. `ids`: of named things; `count` is null when uncounted. */
export interface LeftOut {
  part: "instructions" | "core_memory" | "summary" | "window" | "episodes" | "passages";
  why: "no_room" | "summarised" | "switched_off" | "unavailable";
  ids: string[];
  count: number | null;
}

/** A prompt that no model is asked. */
export interface PromptPreview {
  routeDecision: RouteDecision;
  agent: string;
  limit: number;
  degraded: Layer[];
  leftOut: LeftOut[];
  /** Null when a knowledge base's handler would answer: it makes its own. */
  prompt: {
    /** Estimated, with `toolTokens` and `stepTokens`. */
    tokens: number;
    /** An agent's tools, and the steps of earlier turns. */
    toolTokens: number;
    stepTokens: number;
    receipt: Receipt;
    messageIds: string[];
    shortened: number;
    notices: Notice[];
  } | null;
}

export type PreviewPrompt = (request: PreviewRequest, signal?: AbortSignal) => Promise<PromptPreview>;

const LAYERS = { summary: "summary", core_memory: "core_memory", episodic: "episodes", knowledge: "passages" } as const satisfies Record<
  Layer,
  LeftOut["part"]
>;
const SWITCHES = ["summary", "core_memory", "episodic"] as const;

export function findLeftOut(state: ConversationState, { receipt, leftOut, instructions }: AssembledPrompt): LeftOut[] {
  const whole = (part: LeftOut["part"], why: LeftOut["why"], count: number | null = null): LeftOut => ({ part, why, ids: [], count });
  const named = (part: LeftOut["part"], ids: string[]): LeftOut => ({ part, why: "no_room", ids, count: ids.length });
  const missing = (known: readonly { id: string }[], given: readonly { id: string }[]): string[] => {
    const ids = new Set(given.map(({ id }) => id));
    return known.map(({ id }) => id).filter((id) => !ids.has(id));
  };
  const off = state.agent?.memory ?? {};
  const filled = off.core_memory === false ? [] : usableCoreMemory(state).filter(({ content }) => content.trim() !== "");
  const sections = filled.filter(({ section }) => !receipt.core_memory.some((given) => given.section === section));
  const found = [
    named("instructions", instructions.cut),
    named(
      "core_memory",
      sections.map(({ section }) => section),
    ),
    named(
      "window",
      state.recentMessages.slice(0, leftOut.messages).map(({ id }) => id),
    ),
    named("episodes", missing(state.episodicMemory, receipt.episodes)),
    named("passages", missing(state.retrievalResults, receipt.passages)),
  ].filter(({ ids }) => ids.length > 0);
  const covered = receipt.summary?.covered_message_count ?? 0;
  return [
    ...(covered > 0 ? [whole("window", "summarised", covered)] : []),
    ...(state.windowIsWhole ? [] : [whole("window", "no_room")]),
    ...found,
    ...SWITCHES.filter((layer) => off[layer] === false).map((layer) => whole(LAYERS[layer], "switched_off")),
    ...state.degraded.map((layer) => whole(LAYERS[layer], "unavailable")),
  ];
}

/**
 * Makes the prompt of a conversation's next message, with a turn's nodes and functions. It asks no model, so rules and meaning alone decide
 * the route and the question. It stores nothing and does not take the conversation.
 */
export function makePreviewPrompt(parts: ConversationGraphParts): PreviewPrompt {
  const { agents, database, handlers = makeKnowledgeHandlers() } = parts;
  const settings = promptSettings(parts);
  const { limits, chooseModels, loading, route, coreMemory, retrieve } = makeReading({
    ...parts,
    routing: { ...parts.routing, routerModel: null },
    questionModel: null,
  });
  const reading = new StateGraph(ConversationState, TurnContext.pick({ signal: true }))
    .addNode("route", route)
    .addNode("history", makeReadHistory(loading))
    .addNode("core_memory", coreMemory)
    .addNode("retrieve", retrieve)
    .addEdge(START, "route")
    .addEdge(START, "history")
    .addEdge(START, "core_memory")
    .addEdge(["route", "history", "core_memory"], "retrieve")
    .addEdge("retrieve", END)
    .compile({ name: "preview" });
  const agentParts = {
    catalog: agents?.catalog ?? NO_AGENTS,
    tools: agents?.tools ?? (() => []),
    skills: agents?.skills ?? NO_SKILLS,
  };
  const steps = makeStepStore(database);

  async function promptOfAgent(
    state: ConversationState,
    { budget, model }: { budget: number; model: string },
    signal: AbortSignal | undefined,
  ) {
    const { agent, tenantId, userId, conversationId } = state;
    if (!agent) throw new Error("only an agent has a loop");
    const userMessageIds = questionIds(state);
    const [has, earlier] = await Promise.all([
      equipAgent(agentParts, { state, agent, signal }),
      steps.ofMessages({ tenantId, userId, conversationId }, userMessageIds),
    ]);
    const runMember = () => Promise.reject(new Error("a preview asks no agent"));
    const tools = [...has.tools, ...teamTools(agent, has, { path: [agent.name], isLead: true, before: [], runMember })];
    const { aboutSkills } = has;
    const seen = seenByLead(earlier);
    const prompt = agentPromptOf(state, { aboutSkills, userMessageIds, steps: seen, tools, settings, tokenBudget: budget, model });
    const schemas = toolTokens(tools);
    const { tokens } = leaveOutOldOutputs(prompt.before, budget - schemas);
    return { prompt, toolTokens: schemas, stepTokens: Math.max(0, tokens - prompt.tokens) };
  }

  return async function previewPrompt(request, signal) {
    const state = await reading.invoke(request, { context: { signal } });
    if (state.error) throw AppError.fromContent(state.error);
    const { name: model } = firstChoice(chooseModels({ model: null, agent: state.agent }));
    const limit = limits.of(model);
    const about = { routeDecision: state.routeDecision, agent: state.agent?.name ?? ASSISTANT, limit };
    const generator = chooseGenerator(state, (kbPrefix) => handlers.find(kbPrefix) !== undefined);
    if (generator === "generate_kb") return { ...about, degraded: state.degraded, leftOut: [], prompt: null };
    const { prompt, toolTokens, stepTokens } =
      generator === "generate_agent"
        ? await promptOfAgent(state, { budget: limit, model }, signal)
        : { prompt: promptOf(state, settings, { tokenBudget: limit, model }), toolTokens: 0, stepTokens: 0 };
    const leftOut = findLeftOut(state, prompt);
    return {
      ...about,
      degraded:
        prompt.leftOut.uncovered > 0 || !state.windowIsWhole ? [...new Set([...state.degraded, "summary" as const])] : state.degraded,
      leftOut,
      prompt: {
        tokens: prompt.tokens + toolTokens + stepTokens,
        toolTokens,
        stepTokens,
        receipt: prompt.receipt,
        messageIds: state.recentMessages.slice(prompt.leftOut.messages).map(({ id }) => id),
        shortened: prompt.shortened,
        notices: promptNotices(prompt, limit),
      },
    };
  };
}
