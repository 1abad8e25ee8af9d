import type { StructuredToolInterface } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { interopSafeParseAsync, isInteropZodSchema } from "@langchain/core/utils/types";
import { checkBySchema } from "../models/wire/check-by-schema.ts";
import { AppError, toAppError } from "../errors/app-error.ts";
import { abortable, startDeadline } from "../turn/deadlines.ts";
import type { AskedCall } from "../models/wire/collect-calls.ts";
import { MAX_LEVELS } from "../text/nesting.ts";
import { isDatabaseError } from "../stores/postgres/database/storage-errors.ts";
import { storableText } from "../text/storable-text.ts";
import { parseArguments } from "../text/tool-arguments.ts";
import type { Elicit } from "../turn/elicited-form.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { PermissionAction } from "../turn/agent.ts";
import type { Picture } from "../turn/picture.ts";
import { cutOutput, readResult } from "./tool-output.ts";
import type { AgentTool, TaskCall, ToolTurn } from "./tool.ts";

/** The caller's own functions around every call of a tool. */
export interface ToolHooks {
  /** Throws to refuse the call: the model reads the message. */
  before?: (call: { name: string; arguments: unknown }, turn: ToolTurn) => Promise<void> | void;
  /** Returns the model's version of the output. Other words also replace pictures. */
  after?: (call: { name: string; arguments: unknown; output: string }, turn: ToolTurn) => Promise<string> | string;
}

export interface ToolCallParts {
  tools: readonly AgentTool[];
  permissionOf: (tool: AgentTool) => PermissionAction;
  turn: ToolTurn;
  hooks: ToolHooks;
  timeoutMs: number;
  signal: AbortSignal;
  /** Answers the tool's server during the call. Without it nobody can be asked. */
  elicit?: Elicit | undefined;
  /** For a tool that gives tasks. */
  task?: TaskCall;
  /** Called with a failure whose own words are not for the model. */
  onBroken?: (error: AppError) => void;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  isCut: boolean;
  ms: number;
  /** Default: none. */
  pictures?: readonly Picture[];
}

/** A failure that the model reads: its code, what happened and what to do. */
export class ToolError extends Error {
  readonly code: string;
  readonly fix: string;
  constructor(code: string, message: string, fix: string) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}

/** A failure's words may quote the model. */
const MOST_WORDS = 2_000;
const shorten = (text: string): string => (text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)}…` : text);

const words = ({ code, message, fix }: ToolError): string =>
  JSON.stringify({ error: code, message: shorten(message), what_to_do: shorten(fix) });

export function notRun(error: ToolError): ToolOutcome {
  return { ok: false, output: storableText(words(error)), isCut: false, ms: 0 };
}

/** A model fixes no more at once. */
const MOST_PROBLEMS = 20;

interface Problem {
  path: readonly PropertyKey[];
  message: string;
}

/** The first error of a JSON schema, at the innermost place. Throws when the check takes too long. */
function firstProblem(schema: JSONSchema, given: object): Problem[] {
  const last = checkBySchema(schema, given, { draft: "2019-09", isQuick: true }).at(-1);
  return last ? [{ path: last.instanceLocation.split("/").slice(1), message: last.error.replace(/\.$/, "") }] : [];
}

/** The problems with a call's arguments by field; null when they fit the tool's schema. */
export async function findWrongArguments({ schema }: Pick<StructuredToolInterface, "schema">, given: object): Promise<string | null> {
  const problems = isInteropZodSchema(schema)
    ? ((await interopSafeParseAsync(schema, given)).error?.issues ?? [])
    : firstProblem(schema, given);
  if (problems.length === 0) return null;
  const named = problems.slice(0, MOST_PROBLEMS).map(({ path, message }) => `${path.map(String).join(".") || "the arguments"}: ${message}`);
  return named.join("; ");
}

async function argumentsOf({ name, arguments: given }: AskedCall, { tool }: AgentTool): Promise<Record<string, unknown>> {
  const parsed = parseArguments(given);
  if (!parsed) {
    const problem = `The arguments are no JSON object, or nest deeper than ${MAX_LEVELS} levels.`;
    throw new ToolError("invalid_arguments", problem, "Call the tool again with one JSON object as arguments.");
  }
  const wrong = await findWrongArguments(tool, parsed);
  if (wrong === null) return parsed;
  throw new ToolError(
    "invalid_arguments",
    `The arguments do not fit the schema of "${name}": ${wrong}.`,
    "Correct them and call the tool again.",
  );
}

function toToolError(thrown: unknown, onBroken: ToolCallParts["onBroken"]): ToolError {
  if (thrown instanceof ToolError) return thrown;
  if (!(thrown instanceof AppError) && isDatabaseError(thrown)) {
    const error = toAppError(thrown);
    onBroken?.(error);
    return new ToolError(error.code, error.message, "Do without it, and say so.");
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof AppError ? thrown.code : "tool_failed";
  return new ToolError(code, message, "Try other arguments or another tool, or answer without it.");
}

/**
 * Runs one call: name, permission, arguments, hook, tool with a deadline, hook, cut. A failure is an outcome that the model reads. Throws
 * only the reason of `signal`.
 */
export async function runToolCall(call: AskedCall, parts: ToolCallParts): Promise<ToolOutcome> {
  const { tools, permissionOf, turn, hooks, timeoutMs, signal, elicit, task } = parts;
  const began = performance.now();
  using deadline = startDeadline(timeoutMs, signal);

  async function run(): Promise<{ text: string; isCut: boolean; pictures: readonly Picture[] }> {
    const found = tools.find(({ name }) => name === call.name);
    if (!found) {
      const known = tools.map(({ name }) => name).join(", ");
      throw new ToolError("unknown_tool", `There is no tool "${call.name.slice(0, 100)}".`, `Use one of these: ${known}.`);
    }
    const permission = permissionOf(found);
    if (permission === "deny")
      throw new ToolError("permission_denied", `"${call.name}" is not allowed here.`, "Do without it, and say so.");
    if (permission === "ask")
      throw new ToolError(
        "permission_denied",
        `"${call.name}" needs somebody's permission, and nobody can be asked.`,
        "Do without it, and say so.",
      );
    const given = await argumentsOf(call, found);
    await hooks.before?.({ name: call.name, arguments: given }, turn);
    const options = { signal: deadline.signal, configurable: { turn, elicit, task } };
    const result: unknown = await found.tool.invoke(given, options);
    const { text: output, pictures } = readResult(result);
    const changed = hooks.after ? await hooks.after({ name: call.name, arguments: given, output }, turn) : output;
    const shown = cutOutput(storableText(changed), found.readsOn ? offsetOf(given) : null);
    return { ...shown, pictures: changed === output ? pictures : [] };
  }

  try {
    const { text, isCut, pictures } = await abortable(run, deadline.signal);
    return { ok: true, output: text, isCut, ms: millisecondsSince(began), pictures };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof AppError && thrown.code === "question_unanswered") throw thrown; // a member's: the turn cannot go on either
    const error = deadline.isOver()
      ? new ToolError("tool_timeout", `"${call.name}" gave no answer within ${timeoutMs} ms.`, "Ask it for less, or do without it.")
      : toToolError(thrown, parts.onBroken);
    return { ok: false, output: storableText(words(error)), isCut: false, ms: millisecondsSince(began) };
  }
}

function offsetOf({ offset }: Record<string, unknown>): number {
  return typeof offset === "number" && offset > 0 ? Math.floor(offset) : 0;
}
