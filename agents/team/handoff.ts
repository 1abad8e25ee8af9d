import { tool } from "@langchain/core/tools";
import { z } from "zod";
import type { Step } from "../../stores/postgres/agents/step-store.ts";
import { fence } from "../../text/fence.ts";
import { parseArguments } from "../../text/tool-arguments.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Handoff } from "../../turn/events.ts";
import { AppError } from "../../errors/app-error.ts";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";

export const HANDOFF = "handoff_to";

const Given = z.strictObject({ agent: z.string(), reason: z.string().trim().min(1).max(1_000) });

/** The handoff that a call asks for; null: it is none. */
export function handoffOf(from: string, { name, arguments: given }: { name: string; arguments: unknown }): Handoff | null {
  if (name !== HANDOFF) return null;
  const parsed = Given.safeParse(typeof given === "string" ? parseArguments(given) : given).data;
  return parsed ? { from, to: parsed.agent, reason: parsed.reason } : null;
}

/** The handoffs among these steps, in order. */
const handoffsIn = (steps: readonly Step[]): Handoff[] =>
  steps.flatMap((step) => (step.kind === "tool" && step.ok === true ? (handoffOf(step.agent, step) ?? []) : []));

/** The handoff with which an agent's part of a turn ended, by its steps. The first one of an answer counts. */
export const firstHandoff = (steps: readonly Step[]): Handoff | null => handoffsIn(steps)[0] ?? null;

/** What the agent to which a turn was handed reads of that, after its instructions; empty: it was not. By the steps of the turn. */
export function aboutHandoff({ name }: Pick<Agent, "name">, steps: readonly Step[]): string {
  const handed = handoffsIn(steps).find(({ to }) => to === name);
  if (!handed) return "";
  return `The agent "${handed.from}" handed this conversation to you. Its reason:\n${fence("context", [{ text: handed.reason }])}`;
}

/** Throws AppError `not_found` when the agent went away after the turn was handed to it. */
export function handedTo(agents: readonly Agent[], { to }: Handoff): Agent {
  const found = agents.find(({ name }) => name === to);
  if (found) return found;
  throw new AppError("not_found", `The agent "${to}", to which this turn was handed, does not exist any more. Send the message again.`);
}

/** Agents as a tool's schema names them, and as its description does. */
export const namesOf = (agents: readonly Agent[]) => ({
  names: z.enum(agents.map(({ name }) => name) as [string, ...string[]]),
  list: agents.map(({ name, description }) => `${name}: ${description}`).join("\n"),
});

/** The tool that hands the conversation on. `before`: the agents that had this turn already, which do not get it back. */
export function makeHandoff(agents: readonly Agent[], before: readonly string[]): AgentTool {
  const { names, list } = namesOf(agents);
  return {
    name: HANDOFF,
    isHarmless: true,
    onlyReads: true, // cut off, it may run again
    tool: tool(
      ({ agent }) => {
        if (!before.includes(agent)) return `"${agent}" answers from now on.`;
        const problem = `"${agent}" had this turn already, and handed it on: ${[...before].join(", ")}.`;
        throw new ToolError("handed_to_and_fro", problem, "Answer yourself, or say what is missing.");
      },
      {
        name: HANDOFF,
        description: `Hands the conversation to another agent, which answers this message and the next ones. The agents:\n${list}`,
        schema: Given.extend({ agent: names }),
      },
    ),
  };
}
