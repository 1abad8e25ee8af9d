import type { BaseMessage } from "@langchain/core/messages";
import type { AgentCatalog } from "../catalog/agent-catalog.ts";
import type { SkillCatalog } from "../skills/skill-catalog.ts";
import { type AgentTool, toolsOf, type ToolSource } from "../tool.ts";
import { describeSkills, makeLoadSkill } from "../tools/load-skill.ts";
import { abortable, startDeadline } from "../../turn/deadlines.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Notice } from "../../turn/events.ts";
import type { ConversationState } from "../../turn/state.ts";
import { promptOf, type PromptSettings, type TurnPrompt } from "../../prompt/turn-prompt.ts";
import { toolTokens } from "./fit-loop.ts";
import { groupByQuestion, withSteps } from "./window-with-steps.ts";

export interface AgentPromptParts {
  catalog: AgentCatalog;
  tools: ToolSource;
  skills: SkillCatalog;
}

/** What an agent has. */
export interface Equipment {
  /** Those that it names, and the one that loads its skills. */
  tools: AgentTool[];
  /** Follows its own instructions. */
  aboutSkills: string;
  /** The agents that it may give tasks, and those that it may hand over to. */
  members: Agent[];
  handoffs: Agent[];
  /** They tell of missing tools. */
  notices: Notice[];
}

interface ReadingTurn {
  state: Pick<ConversationState, "tenantId" | "userId">;
  agent: Agent;
  /** The rest of the agent's time. Default: all. */
  leftMs?: number;
  signal: AbortSignal | undefined;
}

/** Reads what an agent has. Goes on without a source of tools that takes longer than the agent has. Throws the reason of `signal`. */
export async function equipAgent(
  { catalog, tools: toolSource, skills: skillCatalog }: AgentPromptParts,
  { state: { tenantId, userId }, agent, leftMs = agent.limits.timeout_s * 1_000, signal }: ReadingTurn,
): Promise<Equipment> {
  const notices: Notice[] = [];
  const onMissing = (message: string): void => void notices.push({ code: "mcp_unavailable", message });
  using deadline = startDeadline(leftMs, signal);
  const read = () =>
    Promise.all([
      toolSource({ tenantId, userId }, { patterns: agent.tools, onMissing, signal: deadline.signal }),
      skillCatalog.list(tenantId, agent.skills),
      agent.subagents.length + agent.handoffs.length > 0 ? catalog.list(tenantId) : [],
    ]);
  const [available, skills, known] = await abortable(read, signal);
  const others = (names: readonly string[]): Agent[] =>
    names.flatMap((name) => known.filter((one) => one.name === name && name !== agent.name));
  const own = toolsOf(agent, available);
  return {
    tools: skills.length === 0 ? own : [...own, makeLoadSkill(skills, skillCatalog)],
    aboutSkills: skills.length === 0 ? "" : describeSkills(skills),
    members: others(agent.subagents),
    handoffs: others(agent.handoffs),
    notices,
  };
}

/** `before`: its messages, with what earlier turns did. */
export interface AgentPrompt extends TurnPrompt {
  before: BaseMessage[];
}

interface PromptParts {
  aboutSkills: string;
  userMessageIds: readonly string[];
  /** Those that the agent sees. */
  steps: readonly StepOfMessage[];
  tools: readonly AgentTool[];
  settings: PromptSettings;
  tokenBudget: number;
  model: string;
}

/** The prompt of an agent with these tools. */
export function agentPromptOf(
  state: ConversationState,
  { aboutSkills, userMessageIds, steps, tools, settings, tokenBudget, model }: PromptParts,
): AgentPrompt {
  const schemas = toolTokens(tools);
  const prompt = promptOf(state, settings, { tokenBudget: Math.max(0, tokenBudget - schemas), model, aboutSkills });
  const room = tokenBudget - schemas - prompt.tokens;
  const { currentMessageId } = state;
  return { ...prompt, before: withSteps(prompt.messages, groupByQuestion(steps, userMessageIds), { currentMessageId, room }) };
}
