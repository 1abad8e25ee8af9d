import { ToolMessage } from "@langchain/core/messages";
import { type Picture, pictureMark, readPicture } from "../turn/picture.ts";

/** What a tool gave: `text` has a mark for each picture. */
export interface ToolResult {
  text: string;
  pictures: Picture[];
}

/** The address of a picture among LangChain's content blocks; undefined for another block. */
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

/** Reads what a tool of LangChain returned: a text, content blocks, or anything else, which becomes JSON. */
export function readResult(result: unknown): ToolResult {
  if (result instanceof ToolMessage) return readResult(result.content);
  if (typeof result === "string") return { text: result, pictures: [] };
  if (!Array.isArray(result)) return { text: JSON.stringify(result) ?? "", pictures: [] };
  const parts = result.map(readPart);
  return { text: parts.map(({ text }) => text).join("\n"), pictures: parts.flatMap(({ pictures }) => pictures) };
}
