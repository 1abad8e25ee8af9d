import { createHash } from "node:crypto";
import { z } from "zod";
import { measurePicture, PICTURE_TYPES, PictureType } from "./measure-picture.ts";

export const MOST_PICTURE_BYTES = 10 * 1024 * 1024;

export const PictureDetail = z.enum(["auto", "low", "high"]);
export type PictureDetail = z.infer<typeof PictureDetail>;

/** A picture whose bytes are kept. Width and height in pixels; the hash is a SHA-256 as base64url. */
export const PictureFile = z.object({
  hash: z.string(),
  mediaType: PictureType,
  width: z.number(),
  height: z.number(),
  byteCount: z.number(),
});
export type PictureFile = z.infer<typeof PictureFile>;

/** A picture of a message. `url`: a data: address with its bytes, or an https address, which the service never opens (`file` is null). */
export const Picture = z.object({ url: z.string(), detail: PictureDetail.nullable(), file: PictureFile.nullable() });
export type Picture = z.infer<typeof Picture>;

const LONGEST_ADDRESS = 8_192;
const DATA = /^data:[^,]{0,200};base64,/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const KNOWN = PICTURE_TYPES.map((type) => type.replace("image/", "").toUpperCase()).join(", ");

/** What is wrong with an address; `isTooLarge`: only its size. */
export interface PictureProblem {
  problem: string;
  isTooLarge: boolean;
}

const refused = (problem: string, isTooLarge = false): PictureProblem => ({ problem, isTooLarge });

export const dataUrl = (mediaType: string, bytes: Uint8Array): string =>
  `data:${mediaType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`;

export const pictureBytes = ({ url }: Pick<Picture, "url">): Buffer => Buffer.from(url.slice(url.indexOf(",") + 1), "base64");

function readBytes(url: string, detail: PictureDetail | null): Picture | PictureProblem {
  const [head = ""] = DATA.exec(url) ?? [];
  if (head === "") return refused("is no data: address in base64, like data:image/png;base64,…");
  const text = url.slice(head.length).replaceAll(/\s/g, "");
  if (text === "" || !BASE64.test(text)) return refused("holds something that is not base64");
  const bytes = Buffer.from(text, "base64");
  if (bytes.length > MOST_PICTURE_BYTES) {
    return refused(`is a picture of ${bytes.length} bytes; at most ${MOST_PICTURE_BYTES} are taken, make it smaller`, true);
  }
  const measured = measurePicture(bytes);
  if (measured === null) return refused(`holds no picture that can be read; known are ${KNOWN}, by their bytes and not their names`);
  const file = { ...measured, hash: createHash("sha256").update(bytes).digest("base64url"), byteCount: bytes.length };
  return { url: `data:${measured.mediaType};base64,${text}`, detail, file };
}

/** Reads a picture's address: https, or data: with its bytes, whose type is found in them. */
export function readPicture(url: string, detail: PictureDetail | null = null): Picture | PictureProblem {
  if (/^data:/i.test(url)) return readBytes(url, detail);
  if (url.length > LONGEST_ADDRESS) return refused(`is an address of more than ${LONGEST_ADDRESS} characters`);
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:") return refused("must be an address of https:, or data: with the picture itself");
  if (parsed.username !== "" || parsed.password !== "") return refused("is an address with a password; leave it out");
  return { url: parsed.href, detail, file: null };
}

/** Stands for a message's pictures where only words are read (summaries, memory, search), in English and Chinese. */
export const pictureMark = (count: number): string => `[${count === 1 ? "picture" : `${count} pictures`} 图片]`;

export const wordsWithPictures = (words: string, count: number): string =>
  count === 0 ? words : [words, pictureMark(count)].filter((part) => part !== "").join("\n");
