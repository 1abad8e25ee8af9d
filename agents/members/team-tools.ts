import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { type Agent, givesTasks } from "../../turn/agent.ts";
import type { Equipment } from "../loop/agent-prompt.ts";
import { ToolError } from "../run-tool-call.ts";
import { type AgentTool, type TaskCall, taskOf } from "../tool.ts";
import { makeHandoff, namesOf } from "../team/handoff.ts";
import { ASK_AGENT } from "../team/strategy.ts";

/** What a member is given. */
export interface Task {
  task: string;
  /** What it needs to know beside the task. */
  context?: string | undefined;
}

/** Runs a member, and returns its answer. Throws AppError, ToolError, or the reason of the signal. */
export type RunMember = (member: Agent, given: Task, call: TaskCall & { signal: AbortSignal | undefined }) => Promise<string>;

/** The longest message and more: a team's strategy passes messages on. */
const MOST_CHARACTERS = 200_000;
const words = z.string().trim().min(1).max(MOST_CHARACTERS);

/** Why an agent may not ask a member, or null. */
function refusal(name: string, { limits }: Agent, path: readonly string[]): ToolError | null {
  const shown = path.join(" > ");
  if (path.includes(name))
    return new ToolError("agent_on_path", `"${name}" waits for this work itself: ${shown}.`, "Ask another agent, or do it yourself.");
  return limits.max_depth < 1 ? new ToolError("too_deep", `No more agents may work below this one: ${shown}.`, "Do it yourself.") : null;
}

/** The tool that gives a task to a member. */
function makeAskAgent(agent: Agent, members: readonly Agent[], path: readonly string[], run: RunMember): AgentTool {
  const { names, list } = namesOf(members);
  return {
    name: ASK_AGENT,
    isHarmless: true,
    onlyReads: false,
    timeoutMs: Infinity,
    members: members.map(({ name }) => name),
    isOffered: !givesTasks(agent),
    tool: tool(
      async ({ agent: name, task, context }, config: RunnableConfig) => {
        const member = members.find((one) => one.name === name);
        if (!member) throw new ToolError("unknown_agent", `There is no agent "${name}".`, `Ask one of these: ${names.options.join(", ")}.`);
        const refused = refusal(name, agent, path);
        if (refused) throw refused;
        return run(member, { task, context }, { ...taskOf(config), signal: config.signal });
      },
      {
        name: ASK_AGENT,
        description: `Gives a task to another agent and returns its answer. Several tasks of one answer are done side by side. The agents:\n${list}`,
        schema: z.strictObject({
          agent: names,
          task: words.describe("Everything that it needs to know."),
          context: words.optional().describe("What others have found, if it needs that."),
        }),
      },
    ),
  };
}

interface OfTeam {
  path: readonly string[];
  /** It answers the turn. */
  isLead: boolean;
  /** The agents that had the turn before. */
  before: readonly string[];
  runMember: RunMember;
}

/** The tools with which an agent works with others. */
export function teamTools(agent: Agent, { members, handoffs }: Equipment, { path, isLead, before, runMember }: OfTeam): AgentTool[] {
  return [
    ...(members.length > 0 ? [makeAskAgent(agent, members, path, runMember)] : []),
    ...(isLead && handoffs.length > 0 ? [makeHandoff(handoffs, [...before, agent.name])] : []),
  ];
}
