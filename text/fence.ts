import { splitLines } from "./line-breaks.ts";

/** A piece of remembered text inside a fence: a line of ours, if any, and the text below it, each line behind a "> ". */
export interface FencedPiece {
  label?: string;
  text: string;
}

/** The tags between which remembered text stands in prompts. */
const TAGS = [
  "core_memory",
  "conversation_summary",
  "earlier_exchanges",
  "passages",
  "earlier_summary",
  "user_message",
  "assistant_message",
  "knowledge_bases",
];

/** Names that chat templates write between angle brackets: Llama, Mistral, Gemma, Qwen, GLM, Command, T5. ChatML and DeepSeek write bars. */
const ANGLE_TOKENS = [
  "s",
  "sys",
  "bos",
  "eos",
  "pad",
  "unk",
  "sop",
  "eop",
  "image",
  "think",
  "bos_token",
  "eos_token",
  "start_of_turn",
  "end_of_turn",
  "start_of_image",
  "end_of_image",
  "end_of_utterance",
  "tool_call",
  "tool_calls",
  "tool_response",
  "function_calls",
];

/** Names that chat templates write between square brackets: Llama 2, Mistral, GLM. */
const SQUARE_TOKENS = [
  "inst",
  "system_prompt",
  "available_tools",
  "tool_calls",
  "tool_results",
  "tool_content",
  "model_settings",
  "args",
  "call_id",
  "think",
  "img",
  "bos",
  "eos",
  "mask",
  "gmask",
  "smask",
];

/** Matches a name whatever its case, also with invisible format characters between its letters. */
const spelled = (name: string): string => [...name].join("\\p{Cf}*");
const anyOf = (names: readonly string[]): string => `(?:${names.map(spelled).join("|")})`;
const BLANK = "[\\s\\p{Cf}]*";
/** What a tokenizer may read as a bar: DeepSeek's is the wide one. */
const BAR = "[|｜]";

/** The angle bracket of a tag of ours or of a control token. */
const ANGLE = new RegExp(
  `[<＜﹤](?=${BLANK}(?:${BAR}|(?:/${BLANK})?(?:${anyOf(TAGS)}|${anyOf(ANGLE_TOKENS)}${BLANK}[>＞﹥])|[\\w]{1,40}${BAR}[>＞﹥]|(?:reserved|unused|special|extra_id|seed:)[_\\w:]{0,40}>))`,
  "giu",
);
/** The square bracket of a control token. */
const SQUARE = new RegExp(`[[［](?=${BLANK}(?:${BAR}|(?:/${BLANK})?${anyOf(SQUARE_TOKENS)}${BLANK}[\\]］]))`, "giu");
const BLANK_LINES = /\n{3,}/gu;
const QUOTED = "> ";
const NOTHING = "(none)";

/** Text without control tokens of chat templates or tags of ours: their first bracket becomes one that no template knows. */
function disarm(text: string): string {
  return text.replace(ANGLE, "‹").replace(SQUARE, "⟦");
}

/** Text on one line, disarmed: for what stands inside a line of ours, such as the title of a document. */
export function onOneLine(text: string): string {
  return disarm(splitLines(text).join(" "));
}

/** Text as it stands in a fence: disarmed, each line behind "> ", of several blank lines one. */
export function quoteLines(text: string): string {
  return QUOTED + disarm(splitLines(text).join("\n").replace(BLANK_LINES, "\n\n")).replaceAll("\n", `\n${QUOTED}`);
}

/** The text without the "> " before each line, where every line has one: models copy it from what they read. */
export function unquoteLines(text: string): string {
  const lines = text.split("\n");
  return lines.every((line) => line.startsWith(">")) ? lines.map((line) => line.replace(/^> ?/u, "")).join("\n") : text;
}

/** A piece as it stands in a fence. */
export function quotePiece({ label, text }: FencedPiece): string {
  return label === undefined ? quoteLines(text) : `${onOneLine(label)}\n${quoteLines(text)}`;
}

/** The fence around pieces that `quotePiece` has quoted. */
export function fenceQuoted(tag: string, quoted: readonly string[]): string {
  return `<${tag}>\n${quoted.length > 0 ? quoted.join("\n") : NOTHING}\n</${tag}>`;
}

/**
 * Remembered text between tags. Each of its lines starts with "> "; our own lines do not. It cannot close the tag, open another or end the
 * message, so it is only data.
 */
export function fence(tag: string, pieces: readonly FencedPiece[]): string {
  return fenceQuoted(tag, pieces.map(quotePiece));
}

/** A fence as it is read back from a prompt. */
export interface ReadFence {
  tag: string;
  pieces: FencedPiece[];
}

/** The fences of a prompt, in order, and the text behind the last of them, trimmed. Reverses `fence`. */
export function readFences(prompt: string): { fences: ReadFence[]; rest: string } {
  const fences: ReadFence[] = [];
  const lines = prompt.split("\n");
  let behind = 0;
  let open: { tag: string; pieces: { label?: string; lines: string[] }[] } | null = null;
  for (const [position, line] of lines.entries()) {
    if (open === null) {
      const tag = /^<([a-z_]+)>$/u.exec(line)?.[1];
      if (tag !== undefined && TAGS.includes(tag)) open = { tag, pieces: [] };
    } else if (line === `</${open.tag}>`) {
      fences.push({ tag: open.tag, pieces: open.pieces.map(({ lines, ...label }) => ({ ...label, text: lines.join("\n") })) });
      open = null;
      behind = position + 1;
    } else if (line.startsWith(QUOTED)) {
      if (open.pieces.length === 0) open.pieces.push({ lines: [] });
      open.pieces.at(-1)?.lines.push(line.slice(QUOTED.length));
    } else if (line !== NOTHING) {
      open.pieces.push({ label: line, lines: [] });
    }
  }
  return { fences, rest: lines.slice(behind).join("\n").trim() };
}
