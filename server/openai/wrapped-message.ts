import type { Attachment } from "../../turn/state.ts";
import { type CompletionMessage, isSystem } from "./completion-request.ts";

/** The beginning of Open WebUI's RAG template: backend/open_webui/config.py. Operators change the rest. */
const INSTRUCTIONS = "### Task:\n";
const CONTEXT = ["<context>", "</context>"] as const;
const FILES = ["<attached_files>", "</attached_files>"] as const;
/** Open WebUI's memory of the user, in a system message. */
const MEMORY = ["<memory_context>", "</memory_context>"] as const;
const MEMORY_NAME = "memory of the chat front end";
const SOURCE = "<source ";
const SOURCE_END = "</source>";
const NAME = /\bname="([^"]*)"/;

export interface UnwrappedMessage {
  /** The person's own words. */
  message: string;
  attachments: Attachment[];
}

/** A source ends where the next one begins, not at the first closing tag: a file may hold any text. */
function readSources(context: string): Attachment[] {
  const [, ...sources] = `\n${context.trim()}`.split(`\n${SOURCE}`);
  return sources.map((source, index) => {
    const end = source.indexOf(">");
    const body = source.slice(end + 1).trim();
    const text = body.endsWith(SOURCE_END) ? body.slice(0, -SOURCE_END.length) : body;
    return { name: NAME.exec(source.slice(0, end))?.[1] ?? `source ${index + 1}`, text: text.trim() };
  });
}

/**
 * Unwraps a message of Open WebUI: its instructions, `<context>` with the text of files, and `<attached_files>`. Only the words after the
 * last closing tag are the person's, so that no file can speak for them; they are "" for a file alone. Any other text stays.
 */
export function unwrapMessage(given: string): UnwrappedMessage {
  const plain = { message: given, attachments: [] };
  const text = given.replaceAll("\r\n", "\n").trimStart();
  const isInstructed = text.startsWith(INSTRUCTIONS) && text.includes(CONTEXT[0]);
  if (!isInstructed && !text.startsWith(FILES[0])) return plain;
  const end = endOfWrapping(text);
  return end === 0 ? plain : { message: text.slice(end).trim(), attachments: readContext(text) };
}

/** The system messages of a request, joined in order, without Open WebUI's files and memory (see systemAttachments). */
export function systemInstructions(messages: readonly Pick<CompletionMessage, "role" | "text">[]): string {
  const told = messages.filter(isSystem).map(({ text }) => withoutContext(splitMemory(text).rest));
  return told.filter((text) => text !== "").join("\n\n");
}

/** To the last closing tag, so that nothing remembered can speak for others. */
function splitMemory(given: string): { rest: string; memory: Attachment[] } {
  const text = given.replaceAll("\r\n", "\n");
  const [from, until] = [text.indexOf(MEMORY[0]), text.lastIndexOf(MEMORY[1])];
  if (from < 0 || until < from) return { rest: text, memory: [] };
  const rest = text.slice(0, from) + text.slice(until + MEMORY[1].length);
  return { rest, memory: [{ name: MEMORY_NAME, text: text.slice(from + MEMORY[0].length, until).trim() }] };
}

function withoutContext(text: string): string {
  if (readContext(text).length === 0) return text.trim();
  const opening = text.indexOf(CONTEXT[0]);
  const template = text.lastIndexOf(INSTRUCTIONS, opening);
  const before = text.slice(0, template < 0 ? opening : template).trim();
  return [before, text.slice(endOfWrapping(text)).trim()].filter((part) => part !== "").join("\n\n");
}

/** The place after the last closing tag, so that no file can speak for others. */
function endOfWrapping(text: string): number {
  return Math.max(...[CONTEXT[1], FILES[1]].map((tag) => (text.includes(tag) ? text.lastIndexOf(tag) + tag.length : 0)));
}

function readContext(text: string): Attachment[] {
  const from = text.indexOf(CONTEXT[0]);
  const until = text.lastIndexOf(CONTEXT[1]);
  return from >= 0 && until > from ? readSources(text.slice(from + CONTEXT[0].length, until)) : [];
}

/** Open WebUI with RAG_SYSTEM_CONTEXT adds `<context>` to the system message with each request, as it does `<memory_context>`. */
export function systemAttachments(messages: readonly Pick<CompletionMessage, "role" | "text">[]): Attachment[] {
  return messages.filter(isSystem).flatMap(({ text }) => {
    const { rest, memory } = splitMemory(text);
    return [...readContext(rest), ...memory];
  });
}

const EARLIER = "earlier in this chat";
const SPEAKERS: Partial<Record<string, string>> = { user: "User", assistant: "Assistant" };

/** The newest messages before the user's last one, within `maxChars`: for a chat whose history the service does not keep. */
export function quoteEarlier(messages: readonly Pick<CompletionMessage, "role" | "text">[], maxChars: number): Attachment[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const said = messages.slice(0, last).flatMap(({ role, text }) => {
    const words = role === "user" ? unwrapMessage(text).message : text;
    return SPEAKERS[role] && words.trim() !== "" ? [`${SPEAKERS[role]}: ${words.trim()}`] : [];
  });
  let room = maxChars;
  const from = said.findLastIndex((line) => (room -= line.length + 1) < 0) + 1;
  return from === said.length ? [] : [{ name: EARLIER, text: said.slice(from).join("\n") }];
}
