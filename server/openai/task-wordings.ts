import type { FrontEndTask } from "./front-end-task.ts";

/** How a request for a task is worded: plain searches, which take no longer than the text is long, whoever wrote it. */
interface Wording {
  task: FrontEndTask;
  starts: string;
  /** What follows, in this order. */
  then: readonly string[];
  /** How it ends, but for white space and a quote that some versions leave there. */
  ends?: string;
}

const CHAT_END = "</chat_history>";
/** The frame of most of Open WebUI's tasks: what to answer with, and then the chat. */
const CHAT_TASK = { starts: "### Task:\n", ends: CHAT_END };

/** The wordings of today and those of the last years, by the front end that has them. */
const WORDINGS: readonly Wording[] = [
  // Open WebUI, backend/open_webui/config.py: what it wants to be answered with tells its tasks apart
  { task: "title", ...CHAT_TASK, then: ["### Output:", '"title":', "<chat_history>"] },
  { task: "tags", ...CHAT_TASK, then: ["### Output:", '"tags":', "<chat_history>"] },
  { task: "follow_ups", ...CHAT_TASK, then: ["### Output:", '"follow_ups":', "<chat_history>"] },
  { task: "queries", ...CHAT_TASK, then: ["### Output:", '"queries":', "<chat_history>"] },
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

/** The task whose wording a text has, from its first word to its last; null when it has none. */
export function taskWordedAs(text: string): FrontEndTask | null {
  const trimmed = text.replaceAll("\r\n", "\n").trim();
  const worded = trimmed.endsWith('"') ? trimmed.slice(0, -1) : trimmed;
  const found = WORDINGS.find(
    ({ starts, then, ends = "" }) => worded.startsWith(starts) && follow(worded.slice(starts.length), then) && worded.endsWith(ends),
  );
  return found?.task ?? null;
}
