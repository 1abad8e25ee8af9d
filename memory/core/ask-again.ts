import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { AppError } from "../../errors/app-error.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import { fence } from "../../text/fence.ts";
import { parseJsonObject } from "../../text/json-object.ts";
import type { Contradiction, RulesCheck } from "./check-by-rules.ts";
import type { Reading } from "./remember-turns.ts";
import { checkArguments, type ToolCall, toolDefinitions } from "./tool-schemas.ts";
import { shownArguments } from "../../text/tool-arguments.ts";

interface IdentifiedCall extends ToolCall {
  id: string;
}

/** The calls of an answer. Text that is no JSON stays, to be refused. */
export function readToolCalls({ toolCalls }: Pick<ModelAnswer, "toolCalls">): IdentifiedCall[] {
  return toolCalls.map((call) => ({ id: call.id, name: call.name, arguments: shownArguments(call) }));
}

export type AskModel = (prompt: BaseMessage[], options: { tools?: BindToolsInput[]; modelOptions?: ModelOptions }) => Promise<ModelAnswer>;

export interface AskAgainParts {
  ask: AskModel;
  prompt: readonly BaseMessage[];
  sections: readonly string[];
}

const NOTHING = "nothing";
const UPDATE = "core_memory_update";
const NOTHING_TOOL = {
  type: "function",
  function: { name: NOTHING, description: "Core memory is right as it is.", parameters: { type: "object", properties: {} } },
};
const DEMAND = `Answer with one JSON object and nothing else: {"choice": "${UPDATE}", "section": …, "content": the whole new content of that section}, or {"choice": "${NOTHING}", "section": "", "content": ""}.`;

const LABELS = { missing: "does not say", over: "still says", opposite: "says the opposite of it" } satisfies Record<
  Contradiction["is"],
  string
>;

/** Adds to the last message: some templates refuse two user messages in a row. */
function withWords(prompt: readonly BaseMessage[], words: string): BaseMessage[] {
  return [...prompt.slice(0, -1), new HumanMessage(`${prompt.at(-1)?.text ?? ""}\n\n${words}`)];
}

function withProblem(prompt: readonly BaseMessage[], contradictions: readonly Contradiction[]): BaseMessage[] {
  const pieces = contradictions.map(({ section, is, text }) => ({ label: `[${section}] ${LABELS[is]}:`, text }));
  const words = `Core memory does not fit what the user plainly said:\n${fence("core_memory", pieces)}`;
  return withWords(prompt, `${words}\nCorrect it with ${UPDATE}, or choose "${NOTHING}" if it is right as it is.`);
}

/** Demands a tool call. Servers whose template knows no tools ignore that. */
function askForCall({ ask, prompt, sections }: AskAgainParts): Promise<ModelAnswer> {
  const tools = [...toolDefinitions(sections), NOTHING_TOOL];
  return ask([...prompt], { tools, modelOptions: { tool_choice: "required" } });
}

/** Demands JSON, which llama.cpp, Ollama and vLLM enforce by a grammar. */
function askForJson({ ask, prompt, sections }: AskAgainParts): Promise<ModelAnswer> {
  const text = { type: "string" };
  const properties = {
    choice: { type: "string", enum: [UPDATE, NOTHING] },
    section: { type: "string", enum: [...sections, ""] },
    content: text,
  };
  const schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
  const modelOptions: ModelOptions = {
    response_format: { type: "json_schema", json_schema: { name: "core_memory", strict: true, schema } },
  };
  return ask(withWords(prompt, DEMAND), { modelOptions });
}

function callInJson(text: string): ToolCall[] {
  const { choice, ...given } = parseJsonObject(text) ?? {};
  return typeof choice === "string" ? [{ name: choice, arguments: given }] : [];
}

/** The model's choices in the first form in which it makes any. */
async function choicesOf(parts: AskAgainParts): Promise<ToolCall[]> {
  const ways = [
    () => askForCall(parts).then((answer): ToolCall[] => readToolCalls(answer)),
    () => askForJson(parts).then(({ text }) => callInJson(text)),
  ];
  for (const way of ways) {
    const calls = await way().catch((error: unknown) => {
      if (error instanceof AppError && !error.retryable) return []; // the server does not take this form
      throw error;
    });
    const choices = calls.filter(({ name }) => name === UPDATE || name === NOTHING);
    if (choices.length > 0) return choices;
  }
  return [];
}

/** The contents after these calls; null when one would be refused. */
function contentsAfter(before: Readonly<Record<string, string>>, calls: readonly ToolCall[], sections: readonly string[]) {
  const contents = { ...before };
  for (const { arguments: given } of calls) {
    const checked = checkArguments(UPDATE, given);
    if ("refused" in checked || checked.name !== UPDATE || !sections.includes(checked.arguments.section)) return null;
    contents[checked.arguments.section] = checked.arguments.content;
  }
  return contents;
}

/**
 * Asks the model once more, naming the contradictions and enforcing a tool call, or else JSON. The new choices count when they contradict
 * less and lose nothing else; otherwise the first ones stay.
 */
export async function askAgain({ memory, turns }: Pick<Reading, "memory" | "turns">, check: RulesCheck, parts: AskAgainParts) {
  const now = memory.contents();
  const contradictions = check.contradictions(now);
  const choices = await choicesOf({ ...parts, prompt: withProblem(parts.prompt, contradictions) });
  const updates = choices.filter(({ name }) => name === UPDATE);
  const next = contentsAfter(now, updates, parts.sections);
  if (!next || check.loses(now, next) || check.contradictions(next).length >= contradictions.length) return;
  for (const call of updates) await memory.call(call, turns);
}
