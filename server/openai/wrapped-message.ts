import type { Attachment } from "../../turn/state.ts";
import { type CompletionMessage, isSystem } from "./completion-request.ts";

/** Open WebUI's RAG template begins so: backend/open_webui/config.py. Templates of operators differ behind it. */
const INSTRUCTIONS = "### Task:\n";
const CONTEXT = ["<context>", "</context>"] as const;
const FILES = ["<attached_files>", "</attached_files>"] as const;
const SOURCE = "<source ";
const SOURCE_END = "</source>";
const NAME = /\bname="([^"]*)"/;

export interface UnwrappedMessage {
  /** The person's own words. */
  message: string;
  /** What the front end put before them. */
  attachments: Attachment[];
}

/** A source ends where the next one begins, not at the first tag that closes one: a file may hold any text. */
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
 * Takes a message out of what Open WebUI wraps around it: its instructions, `<context>` with the text of files, and `<attached_files>`. The
 * words behind the last closing tag are the person's, so that no file can speak for them. Any other text is a message as it is.
 */
export function unwrapMessage(given: string): UnwrappedMessage {
  const plain = { message: given, attachments: [] };
  const text = given.replaceAll("\r\n", "\n").trimStart();
  const isInstructed = text.startsWith(INSTRUCTIONS) && text.includes(CONTEXT[0]);
  if (!isInstructed && !text.startsWith(FILES[0])) return plain;
  const closing = [CONTEXT[1], FILES[1]].filter((tag) => text.includes(tag));
  const end = Math.max(...closing.map((tag) => text.lastIndexOf(tag) + tag.length), 0);
  const message = text.slice(end).trim();
  if (end === 0 || message === "") return plain;
  return { message, attachments: readContext(text) };
}

function readContext(text: string): Attachment[] {
  const from = text.indexOf(CONTEXT[0]);
  const until = text.lastIndexOf(CONTEXT[1]);
  return from >= 0 && until > from ? readSources(text.slice(from + CONTEXT[0].length, until)) : [];
}

/** With RAG_SYSTEM_CONTEXT Open WebUI puts `<context>` into the system message, behind whatever stands there, anew with each request. */
export function systemAttachments(messages: readonly Pick<CompletionMessage, "role" | "text">[]): Attachment[] {
  return messages.filter(isSystem).flatMap(({ text }) => readContext(text.replaceAll("\r\n", "\n")));
}
