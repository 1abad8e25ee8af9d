import type { FrontEndTask } from "../../../server/openai/front-end-task.ts";

/** A request that a front end makes for itself, and what the offline model answers. */
export interface FrontEndRequest {
  name: string;
  task: FrontEndTask;
  body: { messages: { role: string; content: string }[] } & Record<string, unknown>;
  offline: unknown;
}

const CHAT = "<chat_history>\nUSER: Where is ornithopter bay on the map?\nASSISTANT: In the south.\n</chat_history>";
const LIBRECHAT = "User: Where is ornithopter bay on the map?\nAI: In the south.";

const ofUser = (text: string) => ({ messages: [{ role: "user", content: text }] });
const request = (name: string, task: FrontEndTask, offline: unknown, text: string): FrontEndRequest => ({
  name,
  task,
  offline,
  body: ofUser(text),
});
const TITLE = "Where is ornithopter bay on";

/** The frame of most of Open WebUI's tasks: what it asks for, and the form it demands. */
const overChat = (task: string, form: string, end = "") =>
  `### Task:\n${task}\n### Guidelines:\n- …\n\n### Output:\nJSON format: ${form}\n\n### Chat History:\n${CHAT}${end}`;

const AUTOCOMPLETE = `### Task:\nYou are an autocompletion system. Continue the text in \`<text>\` based on the **completion type** in \`<type>\` …  \n
### **Output Rules**:\n- Respond only in JSON format: \`{ "text": "<your_completion>" }\`.\n\n---\n### Context:
${CHAT}\n<type>search query</type>  \n<text>where is ornithopter</text>  \n#### Output:\n`;

const COMPACT = `### Task:\nSummarize the conversation history that will be compacted out of the active chat context.\n\n### Instructions:\n- …\n
### Previous Summary:\n\n\n### Messages Being Compacted:\nUSER: Where is ornithopter bay?\n
### Recent Messages Kept In Context:\nUSER: And now?`;

const OLD_TITLE = `Create a concise, 3-5 word title with an emoji as a title for the chat history, in the given language. … RESPOND ONLY WITH THE TITLE TEXT.

Examples of titles:\nRemote Work Productivity Tips\n\n${CHAT}`;

const EMOJI =
  "Your task is to reflect the speaker's likely facial expression through a fitting emoji. …\n\nMessage: ```Where is ornithopter bay?```";

const MERGE = `You have been provided with a set of responses from various models to the latest user query: "Where is ornithopter bay?"\n\n…\n
Responses from models: """In the south."""\n\n"""On the coast."""`;

const TOOLS = `Available Tools: [{"name": "map"}]\n\nYour task is to choose and return the correct tool(s) from the list of available tools …`;
const TOOL_QUERY = 'Query: History:\nUSER: """Where is ornithopter bay?"""\nQuery: Where is ornithopter bay?';

/**
 * As Open WebUI 0.6 to 0.11 sends them by default (backend/open_webui/config.py, utils/context_compaction.py): one user message each. The
 * opening, the headings, the demanded form and the end are as they are there; the advice in between is left out.
 */
export const OPEN_WEBUI: FrontEndRequest[] = [
  request("title", "title", { title: TITLE }, overChat("Generate a concise title summarizing the chat history.", '{ "title": "…" }')),
  request("title of 0.4", "title", TITLE, OLD_TITLE),
  request("tags", "tags", { tags: ["General"] }, overChat("Generate 1-3 broad tags …", '{ "tags": ["tag1", "tag2"] }')),
  request(
    "follow-ups, with the quote that some versions leave at the end",
    "follow_ups",
    { follow_ups: [] },
    overChat("Suggest 3-5 relevant follow-up questions or prompts …", '{ "follow_ups": ["Question 1?"] }', '"'),
  ),
  request("search queries", "queries", { queries: [] }, overChat("Analyze the chat history …", '\n{\n  "queries": ["query1"]\n}', "\n")),
  request(
    "image prompt",
    "image_prompt",
    { prompt: "Where is ornithopter bay on the map?" },
    overChat("Generate a detailed prompt for am image generation task …", '\n{\n    "prompt": "…"\n}'),
  ),
  request("autocompletion", "autocomplete", { text: "" }, AUTOCOMPLETE),
  request("emoji", "emoji", "🙂", EMOJI),
  request("merging the answers of several models", "merge", "In the south.", MERGE),
  request("compacting a long chat", "summary", "USER: Where is ornithopter bay?", COMPACT),
  {
    ...request("choosing tools", "tool_choice", { tool_calls: [] }, ""),
    body: { messages: [{ role: "system", content: TOOLS }, ...ofUser(TOOL_QUERY).messages] },
  },
];

/** The first of them, for tests of what all have in common. */
export const TITLE_REQUEST: FrontEndRequest["body"] = OPEN_WEBUI[0]?.body ?? { messages: [] };

const TITLE_SCHEMA = {
  type: "object",
  properties: { language: { type: "string" }, title: { type: "string" } },
  required: ["language", "title"],
};
const jsonSchema = (more: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "extract", schema: TITLE_SCHEMA, ...more } },
});
const STRUCTURED = ofUser(
  `Analyze this conversation and provide:\n1. The detected language of the conversation
2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\n${LIBRECHAT}`,
);

/** As LibreChat 0.7 and 0.8 ask for titles (packages/agents, src/utils/title.ts; before that api/app/clients), by its titleMethod. */
export const LIBRECHAT_REQUESTS: FrontEndRequest[] = [
  request(
    "title, method completion",
    "title",
    TITLE,
    `Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.

Conversation:\n${LIBRECHAT}`,
  ),
  request(
    "title, method completion of 0.8.0",
    "title",
    TITLE,
    `Provide a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation. … only return the title itself.

Conversation:\n${LIBRECHAT}`,
  ),
  {
    name: "title, method structured",
    task: "title",
    body: { ...STRUCTURED, ...jsonSchema({ strict: true }) },
    offline: { title: TITLE, language: "English" },
  },
  {
    name: "title with a prompt of one's own, method structured",
    task: "title",
    body: { ...ofUser(`Name this chat, please.\n\n${LIBRECHAT}`), ...jsonSchema({}) },
    offline: { title: TITLE, language: "English" },
  },
  {
    name: "title before 0.7.9",
    task: "title",
    body: {
      messages: [
        {
          role: "system",
          content: `Please generate a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation. …\n\n||>User:\n"Where is ornithopter bay on the map?"\n||>Response:\n"In the south."\n\n||>Title:`,
        },
      ],
    },
    offline: TITLE,
  },
];

/** The same as a call of a tool that must be called, as its method functions wants it. */
export const LIBRECHAT_FUNCTIONS: FrontEndRequest["body"] = {
  ...STRUCTURED,
  tools: [{ type: "function", function: { name: "extract", parameters: TITLE_SCHEMA } }],
  tool_choice: { type: "function", function: { name: "extract" } },
};
