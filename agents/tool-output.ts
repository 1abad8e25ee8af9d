import { ToolMessage } from "@langchain/core/messages";
import { type Picture, pictureMark, readPicture } from "../turn/picture.ts";

/** A tool's output: `text` has a mark for each picture. */
export interface ToolResult {
  text: string;
  pictures: Picture[];
}

/** The address of a picture among LangChain's content blocks. */
function addressOf(part: object): string | undefined {
  const { type, url, image_url, data, mimeType, mime_type = mimeType } = part as Record<string, unknown>;
  if (type === "image_url") {
    const given = typeof image_url === "object" && image_url !== null && "url" in image_url ? image_url.url : image_url;
    return typeof given === "string" ? given : "";
  }
  if (type !== "image") return undefined;
  return typeof data === "string" ? `data:${String(mime_type)};base64,${data}` : typeof url === "string" ? url : "";
}

function readPart(part: unknown): ToolResult {
  if (typeof part !== "object" || part === null) return { text: JSON.stringify(part) ?? "", pictures: [] };
  if ("text" in part && typeof part.text === "string") return { text: part.text, pictures: [] };
  const address = addressOf(part);
  if (address === undefined) return { text: JSON.stringify(part), pictures: [] };
  const picture = readPicture(address);
  if ("problem" in picture) return { text: `[a picture is left out: it ${picture.problem}]`, pictures: [] };
  return { text: pictureMark(1), pictures: [picture] };
}

/** Reads what a LangChain tool returned: a text, content blocks, or anything else as JSON. */
export function readResult(result: unknown): ToolResult {
  if (result instanceof ToolMessage) return readResult(result.content);
  if (typeof result === "string") return { text: result, pictures: [] };
  if (!Array.isArray(result)) return { text: JSON.stringify(result) ?? "", pictures: [] };
  const parts = result.map(readPart);
  return { text: parts.map(({ text }) => text).join("\n"), pictures: parts.flatMap(({ pictures }) => pictures) };
}

/** The most bytes of an output that a model reads and a step keeps. */
export const MAX_OUTPUT_BYTES = 50 * 1024;
const MAX_LINE_CHARACTERS = 2_000;

export interface CutOutput {
  text: string;
  isCut: boolean;
}

/** The beginning of a text that fits, without a cut character. */
function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

function cutLine(line: string): string {
  if (line.length <= MAX_LINE_CHARACTERS) return line;
  const begin = line
    .slice(0, MAX_LINE_CHARACTERS)
    .toWellFormed()
    .replace(/\uFFFD$/u, "");
  return `${begin} [${line.length - begin.length} more characters of this line are left out]`;
}

/**
 * Cuts long lines, then the end. The last line says how much is left. `offset`: where the shown text begins, for a tool that can read on;
 * else null.
 */
export function cutOutput(whole: string, offset: number | null): CutOutput {
  const shown = whole.split("\n").map(cutLine).join("\n");
  const text = shown.slice(offset ?? 0).toWellFormed();
  const begin = firstBytes(text, MAX_OUTPUT_BYTES);
  const left = text.length - begin.length;
  if (left === 0) return { text, isCut: shown !== whole };
  const how = offset === null ? "Ask for less to see them." : `Call the tool again with "offset": ${offset + begin.length} to read on.`;
  return { text: `${begin}\n[${left} more characters are left out. ${how}]`, isCut: true };
}
