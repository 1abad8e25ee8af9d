import { send } from "../../api/client.ts";
import type { ChatRequest, Message } from "../../api/types.ts";
import { readAsUrl } from "./chosen-pictures.ts";

/** The words of a message, or its words and pictures. */
export type Said = NonNullable<ChatRequest["message"]>;
type Part = Exclude<Said, string>[number];

/** A picture of a message. Width and height are null when unknown. */
export interface ShownPicture {
  /** A data: address, a path of the service, or an address elsewhere. */
  url: string;
  width: number | null;
  height: number | null;
}

export function toParts(words: string, urls: readonly string[]): Said {
  if (urls.length === 0) return words;
  const pictures = urls.map((url) => ({ type: "image_url" as const, image_url: url }));
  return words.trim() === "" ? pictures : [{ type: "text", text: words }, ...pictures];
}

/** The words of a sent message; empty for a repeated answer. */
export function wordsOf(said: Said = ""): string {
  return typeof said === "string" ? said : said.flatMap((part: Part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function picturesOf(said: Said = ""): ShownPicture[] {
  if (typeof said === "string") return [];
  return said.flatMap((part: Part) => {
    if (part.type !== "image_url") return [];
    return [{ url: typeof part.image_url === "string" ? part.image_url : part.image_url.url, width: null, height: null }];
  });
}

export const attachmentsOf = ({ attachments = [] }: Message): readonly ShownPicture[] => attachments;

/** A picture's bytes from the service: elements send no key. */
export const readPicture = async (url: string): Promise<string> => readAsUrl(await (await send(url)).blob());

/** New words with the pictures of a stored message. Throws ApiError. */
export async function saidAnew(words: string, pictures: readonly ShownPicture[]): Promise<Said> {
  return toParts(words, await Promise.all(pictures.map(async ({ url }) => (url.startsWith("/") ? readPicture(url) : url))));
}
