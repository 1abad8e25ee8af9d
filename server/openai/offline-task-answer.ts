import type { CompletionMessage } from "./completion-request.ts";
import type { FrontEndTask } from "./front-end-task.ts";
import type { StructuredAnswer } from "./structured-answer.ts";

const TITLE_WORDS = 5;
const TITLE_CHARACTERS = 40;

/** The first thing that the user says in a chat as front ends quote it: after USER:, User: or ||>User:. */
function firstSaidByUser(prompt: string): string {
  const start = Math.max(prompt.lastIndexOf("<chat_history>"), prompt.lastIndexOf("\nConversation:\n"), 0);
  return /^(?:\|\|>)?user:\s*"?(\S.*?)"?$/im.exec(prompt.slice(start))?.[1] ?? "";
}

/** Its first words: text without spaces, like Chinese, is cut by characters. */
function titleOf(prompt: string): string {
  const words = firstSaidByUser(prompt).trim().split(/\s+/).slice(0, TITLE_WORDS).join(" ");
  const title = [...words]
    .slice(0, TITLE_CHARACTERS)
    .join("")
    .replace(/(?<![\p{P}\s])[\p{P}\s]+$/u, "");
  return title || "New Chat";
}

const between = (text: string, start: string, end: string): string => text.split(start).at(-1)?.split(end)[0]?.trim() ?? "";

/** What the offline model answers to a front end's task, in the form it demands: from the words it is given, or nothing. */
export function offlineTaskAnswer(task: FrontEndTask, messages: CompletionMessage[], structured: StructuredAnswer | null): string {
  const prompt = messages.map(({ text }) => text).join("\n");
  if (structured) {
    const fields = { title: titleOf(prompt), language: /\p{Script=Han}/u.test(firstSaidByUser(prompt)) ? "Chinese" : "English" };
    return JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([name]) => structured.properties.includes(name))));
  }
  switch (task) {
    case "title":
      return /"title"\s*:/.test(prompt) ? JSON.stringify({ title: titleOf(prompt) }) : titleOf(prompt);
    case "tags":
      return JSON.stringify({ tags: ["General"] });
    case "follow_ups":
      return JSON.stringify({ follow_ups: [] });
    case "queries":
      return JSON.stringify({ queries: [] });
    case "image_prompt":
      return JSON.stringify({ prompt: firstSaidByUser(prompt) });
    case "autocomplete":
      return JSON.stringify({ text: "" });
    case "emoji":
      return "🙂";
    case "merge":
      return between(prompt, "Responses from models: ", "\n\n").replaceAll('"""', "");
    case "tool_choice":
      return JSON.stringify({ tool_calls: [] });
    case "summary":
      return between(prompt, "### Messages Being Compacted:", "### Recent Messages Kept In Context:");
    case "other":
      return "{}";
  }
}
