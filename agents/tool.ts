import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import type { Owner } from "../turn/owner.ts";
import type { Agent } from "../turn/agent.ts";
import type { CallerTool } from "../turn/caller-tools.ts";
import type { NodeEvent, PlanItem } from "../turn/events.ts";
import type { NewQuestion } from "../turn/question.ts";

const MCP = "mcp__";

/** The server and tool of `mcp__SERVER__TOOL`; a server's name neither begins nor ends with `_`, nor holds `__`. */
function partsOf(name: string): [server: string, tool: string] | null {
  const at = name.startsWith(MCP) ? name.indexOf("__", MCP.length + 1) : -1;
  return at < 0 ? null : [name.slice(MCP.length, at), name.slice(at + 2)];
}

/** The part of a pattern that names MCP servers. */
export const serverPartOf = (pattern: string): string | undefined => partsOf(pattern)?.[0];

/** Whether a name matches a pattern in which `*` stands for any characters. The server and tool of `mcp__SERVER__TOOL` match separately. */
export function matchesPattern(pattern: string, name: string): boolean {
  const matchesText = (part: string, text: string): boolean => matchesParts(part.split("*"), text);
  const parts = partsOf(pattern);
  if (!parts) return matchesText(pattern, name);
  const named = partsOf(name);
  return named !== null && matchesText(parts[0], named[0]) && matchesText(parts[1], named[1]);
}

/** Whether a text has these parts in order, from its start to its end. Linear: searches each part once, from left to right. */
export function matchesParts([first = "", ...rest]: readonly string[], text: string): boolean {
  const last = rest.pop();
  if (last === undefined) return first === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length >= at + last.length && text.endsWith(last);
}

/** A tool's turn: `config.configurable.turn` of its function. */
export interface ToolTurn extends Owner {
  turnId: string;
  conversationId: string;
  /** The user's message. */
  messageId: string;
  agent: string;
  /** Shows the plan to whoever follows the turn. */
  showPlan(items: PlanItem[]): void;
}

/** What a turn is to ask for an agent at work. The turn first tells `before`. */
export interface ToAsk {
  question: NewQuestion;
  before?: NodeEvent;
  agent: string;
  /** The agents from the one that answers to this one. */
  path: readonly string[];
  /** The step that gave it its task; 0: it answers the turn. */
  task: number;
}

/** A call that gives a task: `config.configurable.task` of its function. */
export interface TaskCall {
  /** Its step. */
  seq: number;
  /** The member at work asks something: the call has no result yet. */
  onWaiting: (asks: ToAsk) => void;
  /** Runs work in the context of the graph's node, which LangChain replaces by that of the tool. */
  inNode: <Result>(work: () => Result) => Result;
}

export function taskOf({ configurable }: RunnableConfig): TaskCall {
  const task = configurable?.["task"] as TaskCall | undefined;
  if (!task) throw new Error("this tool gives tasks in the turn of an agent only");
  return task;
}

export function turnOf({ configurable }: RunnableConfig): ToolTurn {
  const turn = configurable?.["turn"] as ToolTurn | undefined;
  if (!turn) throw new Error("this tool runs in the turn of an agent only");
  return turn;
}

/** A tool as agents have it. */
export interface AgentTool {
  name: string;
  /** It only reads, or writes the memory of the turn's user. Without a rule it is allowed. */
  isHarmless: boolean;
  /** A call cut off by a crash may run again unasked. */
  onlyReads: boolean;
  /** The caller runs it: the turn waits for the result. `tool` only describes it to the model. */
  runsAtCaller?: boolean;
  /** The caller's own description for the model. */
  asSent?: CallerTool;
  /** Its calls are questions; the answer is the result. Throws ToolError for wrong arguments. `tool` only describes it to the model. */
  asks?: (given: Record<string, unknown>) => NewQuestion;
  /** It gives tasks to these agents. A call that was cut off goes on from its member's steps. */
  members?: readonly string[];
  /** False: the model is not told of it. Default true. */
  isOffered?: boolean;
  /** Its argument `offset` says from which character to read on. */
  readsOn?: boolean;
  /** Milliseconds for a call. Default: the service's. */
  timeoutMs?: number;
  /** LangChain's: checks arguments by its schema and runs. */
  tool: StructuredToolInterface;
}

export function toolsOf({ tools: patterns }: Agent, available: readonly AgentTool[]): AgentTool[] {
  return available.filter(({ name }) => patterns.some((pattern) => matchesPattern(pattern, name)));
}

/** What a turn wants of a source of tools. */
export interface WantedTools {
  /** The turn's tools: MCP servers without any of them are not asked. */
  patterns: readonly string[];
  /** Called when tools are missing because their server is down. */
  onMissing: (problem: string) => void;
  /** Aborts at the end of the turn or of its agent's time. */
  signal?: AbortSignal | undefined;
}

/** The tools for a user's turn: built in, registered by code, of MCP servers. */
export type ToolSource = (owner: Owner, wanted: WantedTools) => Promise<readonly AgentTool[]> | readonly AgentTool[];

/** A LangChain tool of the caller's own. `onlyReads` defaults to false: then its calls ask first, unless a rule allows them. */
export function fromLangChainTool(tool: StructuredToolInterface, { onlyReads = false }: { onlyReads?: boolean } = {}): AgentTool {
  return { name: tool.name, isHarmless: onlyReads, onlyReads, tool };
}

/**
 * Limits of texts and lists are left out: llama.cpp refuses a whole request for a text of 2,000 characters. The whole schema checks each
 * call before it runs.
 */
const LENGTHS = new Set(["minLength", "maxLength", "minItems", "maxItems"]);

function withoutLengths(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutLengths);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([name, value]) => !(LENGTHS.has(name) && typeof value === "number"));
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutLengths(value)]));
}

/** Most tools are the same in every turn. */
const offered = new WeakMap<AgentTool["tool"], CallerTool>();

/** A tool's description for a model's server; a caller's tool unchanged. */
export function offeredTool({ tool, asSent }: AgentTool): CallerTool {
  const known = asSent ?? offered.get(tool);
  if (known) return known;
  const parameters = withoutLengths(toJsonSchema(tool.schema)) as Record<string, unknown>;
  const made: CallerTool = { type: "function", function: { name: tool.name, description: tool.description, parameters } };
  offered.set(tool, made);
  return made;
}
