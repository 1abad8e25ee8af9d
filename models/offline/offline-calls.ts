import type { BaseMessage } from "@langchain/core/messages";
import type { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { readFences } from "../../text/fence.ts";
import { lexicalWords } from "../../text/lexical-text.ts";
import { splitSentences } from "../../text/split-sentences.ts";

export type OfferedTool = ReturnType<typeof convertToOpenAITool>;

export interface OfflineCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** A part of the message, and the whole. */
interface Said {
  step: string;
  message: string;
}

/** The border between two steps of a message. */
const NEXT_STEP =
  /[;；]|[,，、]? ?(?:\band then\b|\bthen\b|\bafter that\b|然后再?|接着|之后再|最后再?|再(?=[查找写读列记算]))|, and (?=(?:please )?\p{L}{1,20} )|[，,](?:并且?|而且)(?=\p{Script=Han})/iu;
const QUOTED = /["“「『]([^"“”「」『』]+)["”」』]/u;
const LATIN_WORD = /[A-Za-z\d][\w./-]*/g;
const FILE = /\.[a-z]{1,5}$/;
/** An order, a ticket or a part: letters and digits in one word. */
const IDENTIFIER = /^(?=.*\d)[A-Za-z\d-]+$/;
const CHINESE: readonly [words: RegExp, english: string][] = [
  [/查|找|搜/u, "search find get look"],
  [/写|记下|建/u, "write create save add"],
  [/文件/u, "file"],
  [/订单/u, "order"],
  [/工单/u, "ticket"],
  [/知识|手册/u, "knowledge"],
  [/几点|时间/u, "current time"],
];
const SEARCHES = "look find check see search";

/** Loads the skill whose name and description have most of the message's words, at least two. */
function skillCall(system: string, message: string): OfflineCall[] {
  const listed = readFences(system).fences.flatMap(({ tag, pieces }) => (tag === "available_skills" ? pieces : []));
  const asked = wordsOf(message);
  const fitting = listed
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => ({
      name: line.split(":")[0] ?? "",
      score: [...wordsOf(line.replaceAll("-", " "))].filter((word) => asked.has(word)).length,
    }))
    .filter(({ score }) => score >= 2)
    .sort((one, other) => other.score - one.score);
  return fitting.slice(0, 1).map(({ name }) => ({ name: "load_skill", arguments: { name } }));
}

/** They need more than a step's words. */
const NEVER = new Set(["todo_write", "load_skill", "core_memory_update", "ask_agent", "handoff_to", "ask_clarification", "ask_decision"]);

/** A task for an agent, or the whole conversation, in so many words and by its name. */
const TO_AGENTS: readonly [name: string, words: RegExp][] = [
  ["ask_agent", /\b(?:ask|have|let) (?:the )?(?<agent>[a-z\d-]+),? (?:to )?(?<task>.+)/iu],
  ["ask_agent", /[请让叫问](?:一下)? ?(?<agent>[a-z\d-]+)(?<task>[^a-z\d-].*)/iu],
  ["handoff_to", /\b(?:hand|pass|put|transfer|connect) (?:me|us|this) (?:on |over |through )?(?:to|with) (?:the )?(?<agent>[a-z\d-]+)/iu],
  ["handoff_to", /(?:转|转接|交)[给到] ?(?<agent>[a-z\d-]+)/iu],
];

/** The call with which a step turns to an agent that the tool knows. */
function callToAgent(step: string, tools: readonly OfferedTool[]): OfflineCall | undefined {
  const calls = TO_AGENTS.flatMap(([name, words]): OfflineCall[] => {
    const { agent: named = "", task } = words.exec(step)?.groups ?? {};
    const agent = named.toLowerCase();
    const { properties } = (tools.find((tool) => tool.function.name === name)?.function.parameters ?? {}) as {
      properties?: { agent?: { enum?: readonly unknown[] } };
    };
    if (!properties?.agent?.enum?.includes(agent)) return [];
    return [{ name, arguments: task === undefined ? { agent, reason: step } : { agent, task: task.trim() } }];
  });
  return calls[0];
}

const wordsOf = (text: string): Set<string> => new Set(lexicalWords(text));
const nameWords = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/^mcp__|[_-]+/g, " ");

/** The value of a text argument; undefined when the message does not say it. */
function fill(name: string, type: unknown, { step, message }: Said): string | undefined {
  const lower = name.toLowerCase();
  if (type !== "string") return undefined;
  const words = (step.match(LATIN_WORD) ?? []).map((word) => word.replace(/\.$/, ""));
  if (/path|file|folder|directory/.test(lower)) return words.find((word) => FILE.test(word));
  const quoted = QUOTED.exec(step)?.[1];
  if (/^(?:content|contents|text|body|message|note|description)$/.test(lower)) return quoted ?? message;
  return quoted ?? words.find((word) => IDENTIFIER.test(word)) ?? (/query|question|search|words/.test(lower) ? step : undefined);
}

/** The required arguments of a tool; null when the message lacks one. */
function argumentsFor({ function: { parameters } }: OfferedTool, said: Said): Record<string, unknown> | null {
  const { properties = {}, required = [] } = (parameters ?? {}) as {
    properties?: Record<string, { type?: unknown; default?: unknown }>;
    required?: string[];
  };
  const needed = required.filter((name) => properties[name]?.default === undefined);
  const given = needed.map((name) => [name, fill(name, properties[name]?.type, said)] as const);
  return given.some(([, value]) => value === undefined) ? null : Object.fromEntries(given);
}

interface KnownTool {
  offered: OfferedTool;
  inName: ReadonlySet<string>;
  inDescription: ReadonlySet<string>;
}

function knownTool(offered: OfferedTool): KnownTool {
  const { name, description = "" } = offered.function;
  return { offered, inName: wordsOf(nameWords(name)), inDescription: wordsOf(description) };
}

/** The tool whose name, then whose description, has most of a step's words. */
function callFor(said: Said, tools: readonly KnownTool[]): { step: string; call: OfflineCall } | null {
  const toAgent = callToAgent(
    said.step,
    tools.map(({ offered }) => offered),
  );
  if (toAgent) return { step: said.step, call: toAgent };
  const english = CHINESE.filter(([words]) => words.test(said.step)).map(([, words]) => words);
  const stepWords = wordsOf([said.step, ...english].join(" "));
  if ([...wordsOf(SEARCHES)].some((word) => stepWords.has(word))) stepWords.add("search");
  let best: (OfflineCall & { score: number }) | null = null;
  for (const { offered, inName, inDescription } of tools) {
    const { name } = offered.function;
    if (NEVER.has(name)) continue;
    const shared = (words: ReadonlySet<string>): number => [...words].filter((word) => stepWords.has(word)).length;
    const named = shared(inName);
    const score = named + shared(inDescription) / 100;
    const given = named < 2 ? null : argumentsFor(offered, said);
    if (given && score > (best?.score ?? 0)) best = { name, arguments: given, score };
  }
  return best && { step: said.step, call: { name: best.name, arguments: best.arguments } };
}

function planOf(steps: readonly string[], status: "pending" | "completed"): OfflineCall {
  const items = steps.map((content, index) => ({
    content: content.slice(0, 500),
    status: status === "pending" && index === 0 ? "in_progress" : status,
  }));
  return { name: "todo_write", arguments: { items } };
}

/** The limits of a message: read characters, steps, and steps with calls. */
const READ_CHARACTERS = 4_000;
const MOST_STEPS_READ = 50;
const MOST_STEPS = 6;

function stepsOf(message: string): string[] {
  const sentences = splitSentences(message.slice(0, READ_CHARACTERS).toWellFormed());
  const steps = sentences.flatMap((sentence) => sentence.split(NEXT_STEP)).map((step) => step.trim());
  return steps.filter((step) => /[\p{L}\p{N}]/u.test(step)).slice(0, MOST_STEPS_READ);
}

/**
 * All calls that a message asks for, in order, by rules: each step calls the tool whose name has its words, if it says the required
 * arguments, or turns to the agent that it names; the fitting skill comes first. With several calls, `todo_write` shows the steps before and after.
 */
export function offlineCalls(prompt: readonly BaseMessage[], message: string, tools: readonly OfferedTool[]): OfflineCall[] {
  const has = (wanted: string): boolean => tools.some(({ function: { name } }) => name === wanted);
  const system = prompt.flatMap(({ type, text }) => (type === "system" ? [text] : [])).join("\n\n");
  const steps = stepsOf(message);
  const known = tools.map(knownTool);
  const called = steps.flatMap((step) => callFor({ step, message }, known) ?? []).slice(0, MOST_STEPS);
  const calls = [...(has("load_skill") ? skillCall(system, message) : []), ...called.map(({ call }) => call)];
  if (!has("todo_write") || called.length < 2) return calls;
  const planned = called.map(({ step }) => step);
  return [planOf(planned, "pending"), ...calls, planOf(planned, "completed")];
}
