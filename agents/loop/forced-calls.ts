import { v7 as uuidv7 } from "uuid";
import type { AgentTool } from "../tool.ts";
import { formedAnswer } from "../../models/formed-answer.ts";
import { type AnswerRequest, type ModelAnswer, streamAnswer } from "../../models/stream-answer.ts";
import type { AskedCall } from "../../models/wire/collect-calls.ts";
import type { CallerTool } from "../../turn/caller-tools.ts";
import { emit } from "../../turn/context.ts";
import { type AgentTask, askForAgent, type RunningAgent, type RunOutcome } from "./agent-loop.ts";
import { tokensOfMessages, toolTokens } from "./fit-loop.ts";
import { parseArguments, shownArguments } from "../../text/tool-arguments.ts";

const schemaOf = ({ function: { parameters } }: CallerTool) => parameters ?? { type: "object", properties: {} };

/** One tool's arguments; with several tools, the name and its arguments. */
function callSchema(tools: readonly CallerTool[]): Record<string, unknown> {
  const [only, ...others] = tools;
  if (only && others.length === 0) return schemaOf(only);
  return {
    anyOf: tools.map((tool) => ({
      type: "object",
      properties: { name: { const: tool.function.name }, arguments: schemaOf(tool) },
      required: ["name", "arguments"],
    })),
  };
}

function toCall(text: string, tools: readonly CallerTool[]): AskedCall {
  const id = `call_${uuidv7().replaceAll("-", "")}`;
  const [only, ...others] = tools;
  if (only && others.length === 0) return { id, name: only.function.name, arguments: text };
  const { name, arguments: given } = JSON.parse(text) as { name: string; arguments: unknown };
  return { id, name, arguments: JSON.stringify(given) };
}

/**
 * An answer that calls one of the caller's tools. If the server makes no call although it must, asks for the arguments as JSON of the
 * tool's schema, which most servers enforce.
 */
export async function askForCalls(request: AnswerRequest, agentTools: readonly AgentTool[]): Promise<ModelAnswer> {
  const tools = agentTools.flatMap(({ asSent }) => (asSent ? [asSent] : []));
  const modelOptions = { ...request.modelOptions };
  delete modelOptions.response_format;
  const silent = { ...request, onToken: () => undefined };
  const first = await streamAnswer({ ...silent, tools, modelOptions: { ...modelOptions, tool_choice: "required" } });
  const hasCalls = first.toolCalls.length > 0 && first.toolCalls.every((call) => parseArguments(call.arguments) !== null);
  if (first.error || first.cut || hasCalls) return first;
  const name = tools.length === 1 ? tools[0]?.function.name : "call";
  const response_format = { type: "json_schema" as const, json_schema: { name: name ?? "call", schema: callSchema(tools), strict: true } };
  const second = await formedAnswer({ ...silent, tools: undefined, modelOptions: { ...modelOptions, response_format, stream: false } });
  return second.error || second.cut ? second : { ...second, toolCalls: [toCall(second.text, tools)] };
}

/** The stored answer of a turn that ends with calls. */
export function callsAsText(calls: readonly AskedCall[]): string {
  const [only, ...others] = calls;
  if (only && others.length === 0) return only.arguments.trim() || "{}";
  return JSON.stringify(calls.map((call) => ({ name: call.name, arguments: shownArguments(call) })));
}

/** Ends a turn with calls: they are told, and stored as its answer. */
export async function callAsForced(running: RunningAgent, task: AgentTask): Promise<RunOutcome> {
  const { turn, agent, run, tools } = running;
  const schemas = toolTokens(tools);
  const answer = await askForAgent(running, task, {
    async assemble(budget) {
      const messages = await task.prompt(budget);
      return { messages, tokens: tokensOfMessages(messages) + schemas, isWhole: true };
    },
    toolTokens: schemas,
    strategy: "truncate",
    onToken: () => undefined,
    send: (request) => askForCalls(request, tools),
  });
  const outcome = { answer, asks: null, handoff: null };
  if (answer.error || answer.toolCalls.length === 0) return outcome;
  for (const call of answer.toolCalls) {
    const content = { call_id: call.id, agent: agent.name, path: [...run.path], name: call.name, arguments: shownArguments(call) };
    emit(turn.runtime, { status: "tool_call", content });
  }
  turn.progress.called.push(...answer.toolCalls.map(({ name }) => name));
  return { ...outcome, answer: { ...answer, text: callsAsText(answer.toolCalls) } };
}
