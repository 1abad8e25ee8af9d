import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { AppError } from "../../errors/app-error.ts";
import { linesOf } from "../../stores/postgres/memory/section-versions.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import { parseJsonObject } from "../../text/json-object.ts";
import { compareWithFact } from "./compare-with-fact.ts";
import { readToolCalls } from "./read-tool-calls.ts";
import type { Reading } from "./remember-turns.ts";
import { isRefusal } from "./run-tool-calls.ts";
import type { DecidedSection } from "./section-drafts.ts";
import { type ToolCall, toolDefinitions } from "./tool-schemas.ts";

export type AskModel = (prompt: BaseMessage[], options: { tools?: BindToolsInput[]; modelOptions?: ModelOptions }) => Promise<ModelAnswer>;

export interface AskAgainParts {
  ask: AskModel;
  /** The prompt without the model's first answer. */
  prompt: readonly BaseMessage[];
  sections: readonly string[];
}

const NOTHING = "nothing";
const UPDATE = "core_memory_update";
const NOTHING_TOOL = {
  type: "function",
  function: { name: NOTHING, description: "Nothing of it changes what is known.", parameters: { type: "object", properties: {} } },
};
const DEMAND = `Answer with one JSON object and nothing else: {"choice": "${UPDATE}", "section": …, "content": the whole new content of that section}, or {"choice": "${NOTHING}", "section": "", "content": ""}.`;

/** A demanded tool call. Servers whose template knows no tools ignore the demand. */
function askForCall({ ask, prompt, sections }: AskAgainParts): Promise<ModelAnswer> {
  const tools = [...toolDefinitions(sections), NOTHING_TOOL];
  return ask([...prompt], { tools, modelOptions: { tool_choice: "required" } });
}

/** JSON of a demanded form, which llama.cpp, Ollama and vLLM enforce by a grammar. */
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
  const last = new HumanMessage(`${prompt.at(-1)?.text ?? ""}\n\n${DEMAND}`); // some templates take no two user messages in a row
  return ask([...prompt.slice(0, -1), last], { modelOptions });
}

function callInJson(text: string): ToolCall[] {
  const { choice, ...given } = parseJsonObject(text) ?? {};
  return typeof choice === "string" ? [{ name: choice, arguments: given }] : [];
}

/** What the rules take out may go, every other line stays, and what they add is said in words of the model's own. */
function keepsFact({ arguments: given }: ToolCall, before: Readonly<Record<string, string>>, facts: readonly DecidedSection[]): boolean {
  const { section, content } = (given ?? {}) as { section?: unknown; content?: unknown };
  const fact = facts.find((one) => one.section === section);
  if (!fact || typeof content !== "string") return false;
  const byRules = fact.lines.map(({ text }) => text);
  const written = linesOf(content);
  const isSaid = (text: string): boolean => {
    const said = written.map((line) => compareWithFact(line, { section: fact.section, text }));
    return written.includes(text) || (said.includes("same") && !said.includes("opposite"));
  };
  const kept = linesOf(before[fact.section] ?? "").filter((line) => byRules.includes(line));
  return kept.every((line) => written.includes(line)) && byRules.every(isSaid);
}

/**
 * Asks the model once more about a plain fact that it did not keep, with the form of its answer enforced: as a tool call, and where that
 * brings none, as JSON. False: the rules have to keep the fact.
 */
export async function askAgain({ memory, turns }: Reading, facts: readonly DecidedSection[], parts: AskAgainParts): Promise<boolean> {
  const before = memory.contents();
  const ways = [
    () => askForCall(parts).then((answer): ToolCall[] => readToolCalls(answer)),
    () => askForJson(parts).then(({ text }) => callInJson(text)),
  ];
  for (const way of ways) {
    const calls = await way().catch((error: unknown) => {
      if (error instanceof AppError && !error.retryable) return []; // the server does not take this form
      throw error;
    });
    for (const call of calls) {
      if (call.name === UPDATE && keepsFact(call, before, facts) && !isRefusal(await memory.call(call, turns))) return true;
    }
  }
  return false;
}
