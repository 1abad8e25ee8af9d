import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { ToolError } from "../run-tool-call.ts";
import type { Equipment } from "./equip-agent.ts";
import type { AgentTool } from "../tool.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { Agent } from "../../turn/agent.ts";

const SYSTEM_PROMPT = "You do one task for another assistant, which reads your answer. You see nothing of its conversation.";

/** Runs a subagent in the turn. */
export type RunSubagent = (
  agent: Agent,
  given: { prompt: () => Promise<BaseMessage[]>; tools: readonly AgentTool[] },
) => Promise<ModelAnswer>;

/** The tool by which an agent gives a task to one of its subagents. A subagent has its own tools, permissions and limits, and asks no other. */
export function makeAskAgent(run: RunSubagent, agents: readonly Agent[], equip: (agent: Agent) => Promise<Equipment>): AgentTool {
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
