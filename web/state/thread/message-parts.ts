import { send } from "../../api/client.ts";
import type { ChatRequest, Message } from "../../api/types.ts";
import { readAsUrl } from "./chosen-pictures.ts";

/** The words of a message, or its words and pictures. */
export type Said = NonNullable<ChatRequest["message"]>;
type Part = Exclude<Said, string>[number];

/** A picture of a message. Width and height are null when nobody knows them. */
export interface ShownPicture {
  /** With its bytes, a path of the service, or an address elsewhere. */
  url: string;
  width: number | null;
  height: number | null;
}

export function toParts(words: string, urls: readonly string[]): Said {
  if (urls.length === 0) return words;
  const pictures = urls.map((url) => ({ type: "image_url" as const, image_url: url }));
  return words.trim() === "" ? pictures : [{ type: "text", text: words }, ...pictures];
}

/** The words of a message that this page sends; none of a request that has an answer given again. */
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

/** The attachments of a stored message. */
export const attachmentsOf = ({ attachments = [] }: Message): readonly ShownPicture[] => attachments;

/** A picture of the service, with its bytes: elements send no key. */
export const readPicture = async (url: string): Promise<string> => readAsUrl(await (await send(url)).blob());

/** New words with the pictures of a stored message. Throws ApiError. */
export async function saidAnew(words: string, pictures: readonly ShownPicture[]): Promise<Said> {
  return toParts(words, await Promise.all(pictures.map(async ({ url }) => (url.startsWith("/") ? readPicture(url) : url))));
}
