import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { AgentCatalog } from "../catalog/agent-catalog.ts";
import { ToolError } from "../run-tool-call.ts";
import type { Skill } from "../skills/skill.ts";
import type { SkillCatalog } from "../skills/skill-catalog.ts";
import { type AgentTool, toolsOf, type ToolSource } from "../tool.ts";
import { describeSkills, makeLoadSkill } from "../tools/load-skill.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import { abortable, startDeadline } from "../../turn/deadlines.ts";
import type { StepOfMessage, StepStore } from "../../stores/postgres/agents/step-store.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Notice } from "../../turn/events.ts";
import type { ConversationState } from "../../turn/state.ts";
import { promptOf, type PromptSettings, type TurnPrompt } from "../../prompt/turn-prompt.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { toolTokens } from "./fit-loop.ts";
import { groupByQuestion, withSteps } from "./window-with-steps.ts";

interface Equipment {
  tools: AgentTool[];
  /** They follow its own instructions. */
  aboutSkills: string;
}

/** The tools that an agent names, and the one that loads its skills. */
function equipAgent(
  agent: Agent,
  { available, skills, catalog }: { available: readonly AgentTool[]; skills: readonly Skill[]; catalog: SkillCatalog },
): Equipment {
  const own = toolsOf(agent, available);
  if (skills.length === 0) return { tools: own, aboutSkills: "" };
  return { tools: [...own, makeLoadSkill(skills, catalog)], aboutSkills: describeSkills(skills) };
}

const SYSTEM_PROMPT = "You do one task for another assistant, which reads your answer. You see nothing of its conversation.";

export type RunSubagent = (
  agent: Agent,
  given: { prompt: () => Promise<BaseMessage[]>; tools: readonly AgentTool[] },
) => Promise<ModelAnswer>;

/** The tool that gives a task to a subagent, which has its own tools, permissions and limits, and asks no other. */
function makeAskAgent(run: RunSubagent, agents: readonly Agent[], equip: (agent: Agent) => Promise<Equipment>): AgentTool {
  const names = agents.map(({ name }) => name);
  const list = agents.map(({ name, description }) => `${name}: ${description}`).join("\n");
  return {
    name: "ask_agent",
    isHarmless: true,
    onlyReads: false,
    timeoutMs: Infinity,
    tool: tool(
      async ({ agent: name, task }) => {
        const agent = agents.find((one) => one.name === name);
        if (!agent) throw new ToolError("unknown_agent", `There is no agent "${name}".`, `Ask one of these: ${names.join(", ")}.`);
        const { tools, aboutSkills } = await equip(agent);
        const instructions = [SYSTEM_PROMPT, agent.instructions ?? "", aboutSkills].filter((text) => text !== "").join("\n\n");
        const prompt = [new SystemMessage(instructions), new HumanMessage(task)];
        const { text, error } = await run(agent, { prompt: async () => prompt, tools });
        if (error) throw error;
        return text;
      },
      {
        name: "ask_agent",
        description: `Gives a task to another agent and returns its answer. The agents:\n${list}`,
        schema: z.strictObject({
          agent: z.enum(names as [string, ...string[]]),
          task: z.string().trim().min(1).max(20_000).describe("Everything that it needs to know."),
        }),
      },
    ),
  };
}

export interface AgentPromptParts {
  catalog: AgentCatalog;
  tools: ToolSource;
  skills: SkillCatalog;
  steps: Pick<StepStore, "ofMessages">;
}

/** What a turn of an agent reads before its model is asked. */
export interface AgentReading {
  toolsFor: (run: RunSubagent) => AgentTool[];
  aboutSkills: string;
  userMessageIds: string[];
  steps: StepOfMessage[];
  /** They tell of missing tools. */
  notices: Notice[];
}

interface ReadingTurn {
  state: ConversationState;
  agent: Agent;
  /** The rest of the agent's time. Default: all. */
  leftMs?: number;
  signal: AbortSignal | undefined;
}

/** Goes on without a source of tools that takes longer than the agent has. Throws the reason of `signal`. */
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

/** `before`: its messages, with what earlier turns did. */
export interface AgentPrompt extends TurnPrompt {
  before: BaseMessage[];
}

/** The prompt of an agent with these tools. */
export function agentPromptOf(
  state: ConversationState,
  { aboutSkills, userMessageIds, steps }: AgentReading,
  { tools, settings, tokenBudget, model }: { tools: readonly AgentTool[]; settings: PromptSettings; tokenBudget: number; model: string },
): AgentPrompt {
  const schemas = toolTokens(tools);
  const prompt = promptOf(state, settings, { tokenBudget: Math.max(0, tokenBudget - schemas), model, aboutSkills });
  const room = tokenBudget - schemas - prompt.tokens;
  const { currentMessageId } = state;
  return { ...prompt, before: withSteps(prompt.messages, groupByQuestion(steps, userMessageIds), { currentMessageId, room }) };
}
