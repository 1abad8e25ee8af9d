import { splitLines } from "./split-sentences.ts";

/** Remembered text in a fence, below a line of ours if there is one. */
export interface FencedPiece {
  label?: string;
  text: string;
}

/** The tags of all fences. No text within a fence can write one. */
export const FENCE_TAGS = [
  "core_memory",
  "conversation_summary",
  "conversation",
  "earlier_exchanges",
  "earlier_notes",
  "passages",
  "earlier_summary",
  "user_message",
  "assistant_message",
  "knowledge_bases",
  "agents",
  "attachments",
  "user_wishes",
  "tool_output",
  "available_skills",
  "earlier_tasks",
  "context",
] as const;
export type FenceTag = (typeof FENCE_TAGS)[number];

/** Control tokens in angle brackets: Llama, Mistral, Gemma, Qwen, GLM, Command, T5. ChatML and DeepSeek write bars. */
const ANGLE_TOKENS = `s sys bos eos pad unk sop eop image think bos_token eos_token start_of_turn end_of_turn start_of_image end_of_image
end_of_utterance tool_call tool_calls tool_response function_calls`;

/** Control tokens in square brackets: Llama 2, Mistral, GLM. */
const SQUARE_TOKENS = `inst system_prompt available_tools tool_calls tool_results tool_content model_settings args call_id think img bos eos
mask gmask smask`;

/** Allows invisible format characters between the letters. */
const spelled = (name: string): string => [...name].join("\\p{Cf}*");
const anyOf = (names: string): string => `(?:${names.split(/\s/u).map(spelled).join("|")})`;
const BLANK = "[\\s\\p{Cf}]*";
/** DeepSeek's bar is the wide one. */
const BAR = "[|｜]";

const ANGLE = new RegExp(
  `[<＜﹤](?=${BLANK}(?:${BAR}|(?:/${BLANK})?(?:${anyOf(FENCE_TAGS.join(" "))}|${anyOf(ANGLE_TOKENS)}${BLANK}[>＞﹥])|[\\w]{1,40}${BAR}[>＞﹥]|(?:reserved|unused|special|extra_id|seed:)[_\\w:]{0,40}>))`,
  "giu",
);
const SQUARE = new RegExp(`[[［](?=${BLANK}(?:${BAR}|(?:/${BLANK})?${anyOf(SQUARE_TOKENS)}${BLANK}[\\]］]))`, "giu");
const BLANK_LINES = /\n{3,}/gu;
const QUOTED = "> ";
const NOTHING = "(none)";

/** Replaces the first bracket of control tokens and of our tags. */
function disarm(text: string): string {
  return text.replace(ANGLE, "‹").replace(SQUARE, "⟦");
}

/** Text for a line of ours, such as a document's title. */
export function onOneLine(text: string): string {
  return disarm(splitLines(text).join(" "));
}

/** Disarmed text, each line after "> ", with single blank lines. */
export function quoteLines(text: string): string {
  return QUOTED + disarm(splitLines(text).join("\n").replace(BLANK_LINES, "\n\n")).replaceAll("\n", `\n${QUOTED}`);
}

/** Removes "> " where every line has it: models copy it from the prompt. */
export function unquoteLines(text: string): string {
  const lines = text.split("\n");
  return lines.every((line) => line.startsWith(">")) ? lines.map((line) => line.replace(/^> ?/u, "")).join("\n") : text;
}

export function quotePiece({ label, text }: FencedPiece): string {
  return label === undefined ? quoteLines(text) : `${onOneLine(label)}\n${quoteLines(text)}`;
}

export function fenceQuoted(tag: FenceTag, quoted: readonly string[]): string {
  return `<${tag}>\n${quoted.length > 0 ? quoted.join("\n") : NOTHING}\n</${tag}>`;
}

/** Puts remembered text between tags, each line after "> ". It cannot close the tag or open another. */
export function fence(tag: FenceTag, pieces: readonly FencedPiece[]): string {
  return fenceQuoted(tag, pieces.map(quotePiece));
}

export interface ReadFence {
  tag: FenceTag;
  pieces: FencedPiece[];
}

/** Reverses `fence`. `rest` is the text after the last fence. */
export function readFences(prompt: string): { fences: ReadFence[]; rest: string } {
  const fences: ReadFence[] = [];
  const lines = prompt.split("\n");
  let behind = 0;
  let open: { tag: FenceTag; pieces: { label?: string; lines: string[] }[] } | null = null;
  for (const [position, line] of lines.entries()) {
    if (open === null) {
      const tag = FENCE_TAGS.find((name) => line === `<${name}>`);
      if (tag !== undefined) open = { tag, pieces: [] };
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
