import { v7 as uuidv7 } from "uuid";
import type { AskedCall } from "../../models/wire/collect-calls.ts";
import type { Step } from "../../stores/postgres/agents/step-store.ts";
import type { Agent } from "../../turn/agent.ts";
import type { AgentTool } from "../tool.ts";

export const ASK_AGENT = "ask_agent";

/** The answer of a member to a task of the team's strategy. */
export type DoneTask = string;

const taskFor = (agent: string, task: string, context?: string): AskedCall => ({
  id: `call_${uuidv7().replaceAll("-", "")}`,
  name: ASK_AGENT,
  arguments: JSON.stringify({ agent, task, ...(context ? { context } : {}) }),
});

/** The next tasks that the team's strategy gives: to all members at once, or to each in turn with what the one before said. */
export function nextTasks(agent: Agent, tools: readonly AgentTool[], message: string, done: readonly DoneTask[]): AskedCall[] {
  const members = tools.find(({ name }) => name === ASK_AGENT)?.members ?? [];
  if (done.length >= members.length) return [];
  if (agent.team.strategy === "parallel") return done.length === 0 ? members.map((name) => taskFor(name, message)) : [];
  return members.slice(done.length, done.length + 1).map((name) => taskFor(name, message, done.at(-1)));
}

/** The tasks of the strategy among the steps of a run. */
export function doneTasks(steps: readonly Step[]): DoneTask[] {
  return steps.flatMap(({ kind, name, output, endedAt }) =>
    kind === "tool" && name === ASK_AGENT && endedAt !== null ? [output ?? ""] : [],
  );
}
