import type { Request } from "express";
import { givenValue } from "../turns/named-user.ts";
import { type CompletionMessage, type CompletionRequest, isSystem, wantedStructure } from "./completion-request.ts";

/** Front ends' own requests to a model, by Open WebUI's names: backend/open_webui/constants.py. */
const FRONT_END_TASKS = {
  title: "title_generation",
  tags: "tags_generation",
  follow_ups: "follow_up_generation",
  queries: "query_generation",
  image_prompt: "image_prompt_generation",
  autocomplete: "autocomplete_generation",
  emoji: "emoji_generation",
  merge: "moa_response_generation",
  tool_choice: "function_calling",
  summary: "context_compaction",
  other: "other",
};
export type FrontEndTask = keyof typeof FRONT_END_TASKS;

/** Open WebUI asks for a choice of tools in a system message, and quotes the user's message in the next one. */
const TOOL_CHOICE = ["Available Tools: ", "Your task is to choose and return the correct tool(s)"] as const;

function choosesTools(messages: CompletionMessage[], question: string): boolean {
  const [start, demand] = TOOL_CHOICE;
  return question.startsWith("Query: ") && messages.some(({ text }) => text.startsWith(start) && text.includes(demand));
}

/** LibreChat asks for a title by a schema. */
function titlesBySchema(body: CompletionRequest): boolean {
  const properties = wantedStructure(body)?.properties ?? [];
  return properties.includes("title") && properties.every((name) => name === "title" || name === "language");
}

function taskNamed(name: string): FrontEndTask | undefined {
  const tasks = Object.entries(FRONT_END_TASKS) as [FrontEndTask, string][];
  return tasks.find((names) => names.includes(name))?.[0];
}

/**
 * Null for a user's message. X-Task or metadata.task names a task; else the wording decides, but only for a single message: in a longer
 * chat the same text is the user's.
 */
export function detectFrontEndTask(request: Request, body: CompletionRequest): FrontEndTask | null {
  const hint = givenValue("X-Task", request.get("X-Task")) ?? givenValue("metadata.task", body.metadata?.["task"]);
  const task = hint && taskNamed(hint.value);
  if (task) return task;

  const { messages } = body;
  const said = messages.filter((message) => !isSystem(message));
  const [first, ...more] = said.length > 0 ? said : messages;
  if (!first || more.length > 0 || first.role === "assistant") return null;
  if (choosesTools(messages.filter(isSystem), first.text)) return "tool_choice";
  return detectTaskByWording(first.text) ?? (titlesBySchema(body) ? "title" : null);
}

/** Plain searches, linear in the text's length. */
interface Wording {
  task: FrontEndTask;
  starts: string;
  /** In this order. */
  then: readonly string[];
  /** Before white space or a stray quote. */
  ends?: string;
}

const CHAT_END = "</chat_history>";
/** The frame of most of Open WebUI's tasks. */
const CHAT_TASK = { starts: "### Task:\n", ends: CHAT_END };

/** The wordings of current and older versions, by front end. */
const WORDINGS: readonly Wording[] = [
  // Open WebUI, backend/open_webui/config.py
  ...(["title", "tags", "follow_ups", "queries"] as const).map((task) => {
    return { task, ...CHAT_TASK, then: ["### Output:", `"${task}":`, "<chat_history>"] };
  }),
  { task: "image_prompt", ...CHAT_TASK, then: ["### Output:", '"prompt":', "<chat_history>"] },
  { task: "other", ...CHAT_TASK, then: ["### Output", "<chat_history>"] },
  {
    task: "autocomplete",
    starts: "### Task:\nYou are an autocompletion system.",
    then: ["<chat_history>", CHAT_END, "<text>", "</text>"],
    ends: "#### Output:",
  },
  {
    task: "summary",
    starts: "### Task:\nSummarize the conversation history that will be compacted",
    then: ["### Previous Summary:", "### Messages Being Compacted:"],
  },
  {
    task: "title",
    starts: "Create a concise, 3-5 word title with an emoji as a title for the",
    then: ["RESPOND ONLY WITH THE TITLE TEXT."],
  },
  {
    task: "emoji",
    starts: "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
    then: ["Message: "],
  },
  {
    task: "merge",
    starts: "You have been provided with a set of responses from various models to the latest user query: ",
    then: ["Responses from models: "],
  },
  // LibreChat, and its agents package, src/utils/title.ts
  { task: "title", starts: "Provide a concise, 5-word-or-less title for the conversation, using ", then: ["\n\nConversation:\n"] },
  {
    task: "title",
    starts:
      "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language",
    then: ["\n\n"],
  },
  { task: "title", starts: "Please generate a concise, 5-word-or-less title for the conversation", then: ["||>User:"], ends: "||>Title:" },
  {
    task: "title",
    starts: "In this environment you have access to a set of tools you can use to generate the conversation title.",
    then: [],
  },
];

function follow(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

export function detectTaskByWording(text: string): FrontEndTask | null {
  const trimmed = text.replaceAll("\r\n", "\n").trim();
  const worded = trimmed.endsWith('"') ? trimmed.slice(0, -1) : trimmed;
  const found = WORDINGS.find(
    ({ starts, then, ends = "" }) => worded.startsWith(starts) && follow(worded.slice(starts.length), then) && worded.endsWith(ends),
  );
  return found?.task ?? null;
}
