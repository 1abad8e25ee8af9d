import { DynamicStructuredTool } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import type { AgentTool } from "../tool.ts";
import { Agent, ASSISTANT } from "../../turn/agent.ts";
import type { NewStep, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { CallerCall, CallerTool, CallerTools, CallResults } from "../../turn/caller-tools.ts";
import type { Notice } from "../../turn/events.ts";
import { toolTokens } from "./fit-loop.ts";

/** The assistant in a turn with caller's tools. The caller decides how often it goes on. */
export const ASSISTANT_WITH_TOOLS: Agent = Agent.parse({
  name: ASSISTANT,
  tier: "system",
  description: "Answers with the tools of its caller.",
  limits: { max_steps: 100, max_tool_calls: 1_000, timeout_s: 86_400, parallel_tools: 50 },
});

/** The share of a prompt: front ends send dozens of tools with every message. */
const TOOLS_SHARE = 0.5;

const NO_PARAMETERS = { type: "object", properties: {} };

function neverRun(): never {
  throw new Error("a tool of the caller is run by the caller");
}

function toAgentTool(asSent: CallerTool): AgentTool {
  const { name, description, parameters } = asSent.function;
  const schema = (parameters ?? NO_PARAMETERS) as JSONSchema;
  const described = new DynamicStructuredTool({ name, description: description ?? "", schema, func: neverRun });
  return { name, isHarmless: false, onlyReads: false, runsAtCaller: true, asSent, tool: described };
}

/** The caller's first tools that fit beside those of the agent. */
export function fitCallerTools(
  { tools, mustCall }: CallerTools,
  own: readonly AgentTool[],
  tokenBudget: number,
): { tools: AgentTool[]; notice: Notice | null } {
  const names = new Set(own.map(({ name }) => name));
  const all = tools.map(toAgentTool).filter(({ name }) => !names.has(name));
  const room = tokenBudget * TOOLS_SHARE - toolTokens(own);
  const fitting: AgentTool[] = [];
  let used = 0;
  for (const one of all) {
    used += toolTokens([one]);
    if (used > room && !(mustCall && fitting.length === 0)) break;
    fitting.push(one);
  }
  const leftOut = all.slice(fitting.length).map(({ name }) => name);
  if (leftOut.length === 0) return { tools: fitting, notice: null };
  const message = `The prompt is at its limit of ${tokenBudget} tokens: ${leftOut.length} of ${all.length} tools of the request are left out, the last ones: ${leftOut.join(", ").slice(0, 500)}.`;
  return { tools: fitting, notice: { code: "context_trimmed", message } };
}

/** The tools of the agent, and those of the caller that fit beside them; these alone where one of them must be called. */
export function withCallerTools(
  own: readonly AgentTool[],
  callerTools: CallerTools,
  tokenBudget: number,
): { tools: AgentTool[]; notice: Notice | null } {
  const { tools, notice } = fitCallerTools(callerTools, own, tokenBudget);
  return { tools: callerTools.mustCall ? tools : [...own, ...tools], notice };
}

export function resultStep(agent: string, seq: number, { id, name, arguments: given }: CallerCall, output: string): NewStep {
  const about = { seq, agent, kind: "tool" as const, name, callId: id, arguments: shownArguments({ arguments: given }) };
  return { ...about, output, tokens: estimateTokens(output), ms: 0 };
}

/**
 * The first steps of a turn that goes on with results for an earlier turn's calls: the calling answer, and the results. Empty when an
 * earlier attempt has stored them.
 */
export function stepsOfResults(agent: Agent, { calls }: CallResults, earlier: readonly StepOfMessage[]): NewStep[] {
  const isStored = calls.every(({ id, output }) => earlier.some((step) => step.callId === id && step.output === output));
  const asked = earlier.findLast(({ kind }) => kind === "model");
  if (isStored || !asked) return [];
  const answer: NewStep = {
    seq: 1,
    agent: agent.name,
    kind: "model",
    name: asked.name,
    ms: 0,
    ...(asked.echo ? { echo: asked.echo } : {}),
  };
  return [answer, ...calls.map(({ output, ...call }, index) => resultStep(agent.name, index + 2, call, output))];
}
