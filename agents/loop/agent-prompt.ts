import type { BaseMessage } from "@langchain/core/messages";
import type { AgentCatalog } from "../catalog/agent-catalog.ts";
import { equipAgent } from "./equip-agent.ts";
import type { SkillCatalog } from "../skills/skill-catalog.ts";
import type { AgentTool, ToolSource } from "../tool.ts";
import { abortable, startDeadline } from "../../turn/deadlines.ts";
import type { StepOfMessage, StepStore } from "../../stores/postgres/agents/step-store.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Notice } from "../../turn/events.ts";
import type { ConversationState } from "../../turn/state.ts";
import { promptOf, type PromptSettings, type TurnPrompt } from "../../prompt/turn-prompt.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { makeAskAgent, type RunSubagent } from "./ask-agent.ts";
import { toolTokens } from "./fit-loop.ts";
import { groupByQuestion, withSteps } from "./window-with-steps.ts";

export interface AgentPromptParts {
  catalog: AgentCatalog;
  tools: ToolSource;
  skills: SkillCatalog;
  steps: Pick<StepStore, "ofMessages">;
}

/** What a turn of an agent reads before its model is asked. */
export interface AgentReading {
  /** Those that the agent may see, with the one that asks its subagents. */
  toolsFor: (run: RunSubagent) => AgentTool[];
  /** What the prompt says of the agent's skills. */
  aboutSkills: string;
  userMessageIds: string[];
  /** Of these questions. */
  steps: StepOfMessage[];
  /** Of tools that are missing. */
  notices: Notice[];
}

interface ReadingTurn {
  state: ConversationState;
  agent: Agent;
  /** What is left of the agent's time. Default: all. */
  leftMs?: number;
  signal: AbortSignal | undefined;
}

/** A source of tools that takes longer than the agent has is done without. Throws the reason of `signal`. */
export async function readForAgent(
  { catalog, tools: toolSource, skills: skillCatalog, steps: store }: AgentPromptParts,
  { state, agent, leftMs = agent.limits.timeout_s * 1_000, signal }: ReadingTurn,
): Promise<AgentReading> {
  const { tenantId, userId, conversationId, currentMessageId, recentMessages } = state;
  const userMessageIds = [...recentMessages.filter(({ role }) => role === "user").map(({ id }) => id), currentMessageId];
  const notices: Notice[] = [];
  const onMissing = (message: string): void => void notices.push({ code: "mcp_unavailable", message });
  using deadline = startDeadline(leftMs, signal);
  async function findTools(knowing: Promise<readonly Agent[]>): Promise<readonly AgentTool[]> {
    const agents = [agent, ...(await knowing).filter(({ name }) => agent.subagents.includes(name))];
    return toolSource({ tenantId, userId }, { patterns: agents.flatMap(({ tools }) => tools), onMissing, signal: deadline.signal });
  }
  function read() {
    const knowing = (async () => (agent.subagents.length > 0 ? catalog.list(tenantId) : []))();
    return Promise.all([
      findTools(knowing),
      skillCatalog.list(tenantId, agent.skills),
      retryWhileUnreachable(() => store.ofMessages({ tenantId, userId, conversationId }, userMessageIds), signal),
      knowing,
    ]);
  }
  const [available, skills, steps, known] = await abortable(read, signal);
  const { tools: own, aboutSkills } = equipAgent(agent, { available, skills, catalog: skillCatalog });
  const equip = async (one: Agent) =>
    equipAgent(one, { available, skills: await skillCatalog.list(tenantId, one.skills), catalog: skillCatalog });
  const subagents = known.filter(({ name }) => agent.subagents.includes(name) && name !== agent.name);
  const toolsFor: AgentReading["toolsFor"] = (run) => (subagents.length > 0 ? [...own, makeAskAgent(run, subagents, equip)] : own);
  return { toolsFor, aboutSkills, userMessageIds, steps, notices };
}

export interface AgentPrompt {
  prompt: TurnPrompt;
  /** Its messages, with what earlier turns did. */
  before: BaseMessage[];
}

/** The prompt of an agent with these tools, and its messages with what earlier turns did. */
export function agentPromptOf(
  state: ConversationState,
  { aboutSkills, userMessageIds, steps }: AgentReading,
  { tools, settings, tokenBudget, model }: { tools: readonly AgentTool[]; settings: PromptSettings; tokenBudget: number; model: string },
): AgentPrompt {
  const schemas = toolTokens(tools);
  const prompt = promptOf(state, settings, { tokenBudget: Math.max(0, tokenBudget - schemas), model, aboutSkills });
  const room = tokenBudget - schemas - prompt.tokens;
  const { currentMessageId } = state;
  return { prompt, before: withSteps(prompt.messages, groupByQuestion(steps, userMessageIds), { currentMessageId, room }) };
}
