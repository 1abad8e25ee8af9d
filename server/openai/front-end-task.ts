import type { Request } from "express";
import { given } from "./forwarded-header.ts";
import type { CompletionMessage, CompletionRequest } from "./completion-request.ts";
import { structuredAnswerOf } from "./structured-answer.ts";
import { taskWordedAs } from "./task-wordings.ts";

/** What chat front ends ask of a model for themselves, beside what their users say. */
export const FRONT_END_TASKS = [
  "title",
  "tags",
  "follow_ups",
  "queries",
  "image_prompt",
  "autocomplete",
  "emoji",
  "merge",
  "tool_choice",
  "summary",
  "other",
] as const;
export type FrontEndTask = (typeof FRONT_END_TASKS)[number];

/** Open WebUI's names of its tasks: backend/open_webui/constants.py. */
const TASK_NAMES: ReadonlyMap<string, FrontEndTask> = new Map([
  ["title_generation", "title"],
  ["tags_generation", "tags"],
  ["follow_up_generation", "follow_ups"],
  ["query_generation", "queries"],
  ["image_prompt_generation", "image_prompt"],
  ["autocomplete_generation", "autocomplete"],
  ["emoji_generation", "emoji"],
  ["moa_response_generation", "merge"],
  ["function_calling", "tool_choice"],
  ["context_compaction", "summary"],
]);

/** Open WebUI asks which tool to use in a system message, with the user's message quoted in the next one. */
const TOOL_CHOICE = ["Available Tools: ", "Your task is to choose and return the correct tool(s)"] as const;

const isSystem = ({ role }: CompletionMessage): boolean => role === "system" || role === "developer";

function choosesTools(messages: CompletionMessage[], question: string): boolean {
  const [start, demand] = TOOL_CHOICE;
  return question.startsWith("Query: ") && messages.some(({ text }) => text.startsWith(start) && text.includes(demand));
}

/** LibreChat titles by a schema, whatever the words of its prompt. */
function titlesBySchema(body: CompletionRequest): boolean {
  const properties = structuredAnswerOf(body)?.properties ?? [];
  return properties.includes("title") && properties.every((name) => name === "title" || name === "language");
}

const taskNamed = (name: string): FrontEndTask | undefined => TASK_NAMES.get(name) ?? FRONT_END_TASKS.find((task) => task === name);

/**
 * The front end's own task that a request is, null when it is something that a user says. A front end may name a known one in the header
 * X-Task or in metadata.task; else its words tell, if they are all there is: whoever pastes them into a chat that goes on, says them.
 */
export function frontEndTaskOf(request: Request, body: CompletionRequest): FrontEndTask | null {
  const hint = given("X-Task", request.get("X-Task")) ?? given("metadata.task", body.metadata?.["task"]);
  const task = hint && taskNamed(hint.value);
  if (task) return task;

  const { messages } = body;
  const said = messages.filter((message) => !isSystem(message));
  const [first, ...more] = said.length > 0 ? said : messages;
  if (!first || more.length > 0 || first.role === "assistant") return null;
  if (choosesTools(messages.filter(isSystem), first.text)) return "tool_choice";
  return taskWordedAs(first.text) ?? (titlesBySchema(body) ? "title" : null);
}
