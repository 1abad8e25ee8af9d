import { z } from "zod";
import { AppError, type Problem } from "../../errors/app-error.ts";
import { MOST_PICTURE_BYTES, type Picture, PictureDetail, readPicture } from "../../turn/picture.ts";
import { parseRequest, storableText } from "../http/parse-request.ts";
import type { Config } from "../settings/config.ts";

/** The most bytes of a message's pictures. Models' servers take little more in one request. */
export const MOST_BYTES_OF_MESSAGE = 2 * MOST_PICTURE_BYTES;
/** The same in base64, with the addresses and what stands around them. */
const MOST_BYTES_AS_JSON = Math.ceil((MOST_BYTES_OF_MESSAGE * 4) / 3) + 1024 * 1024;
/** How much longer a body with pictures may be. */
export const bytesOfPictures = ({ MAX_PICTURES }: Pick<Config, "MAX_PICTURES">): number => (MAX_PICTURES === 0 ? 0 : MOST_BYTES_AS_JSON);
const MAX_PARTS = 1_000;

const detail = z.enum(PictureDetail.options, `must be one of ${PictureDetail.options.join(", ")}`).optional();
const address = storableText.meta({ format: "uri" });

/** As OpenAI's protocol has it, or the address alone. */
const ImageAddress = z.union([z.string(), z.object({ url: z.string(), detail: z.string().nullish() })]);

export const MessagePart = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text"), text: storableText }),
    z.strictObject({
      type: z.literal("image_url"),
      image_url: z
        .union([address, z.strictObject({ url: address, detail })], "must be an address, or an object with url and, if you like, detail")
        .describe("`data:` with a PNG, JPEG, WebP or GIF of at most 10 MiB, or https, which is handed to the model and not opened here."),
    }),
  ],
  "must be a part of type text or image_url",
);

export const MessageParts = z
  .array(MessagePart)
  .min(1, "is empty; send what the user said")
  .max(MAX_PARTS, `has more than ${MAX_PARTS} parts`);

export interface GivenPicture {
  field: string;
  url: string;
  detail: PictureDetail | null;
}

/** The address in an `image_url` or `input_image`. Throws AppError `invalid_request`. */
export function toGivenPicture(field: string, image: unknown): GivenPicture {
  const given = ImageAddress.safeParse(image);
  if (!given.success) throw AppError.invalid([{ field, problem: "must be an address, or an object with url" }]);
  const { url, detail: wanted } = typeof given.data === "string" ? { url: given.data, detail: null } : given.data;
  const known = PictureDetail.nullable().safeParse(wanted ?? null);
  if (!known.success) throw AppError.invalid([{ field, problem: `detail must be one of ${PictureDetail.options.join(", ")}` }]);
  return { field, url, detail: known.data };
}

const tooLarge = (problems: Problem[]): AppError =>
  new AppError("picture_too_large", problems.map(({ field, problem }) => `${field}: ${problem}`).join("; "), { details: problems });

/** Throws AppError `invalid_request` or `picture_too_large`, which name the fields. */
export function readPictures(given: readonly GivenPicture[], message: string, most: number): Picture[] {
  if (given.length > most) {
    if (most === 0) throw AppError.invalid([{ field: message, problem: "has pictures, and MAX_PICTURES is 0 here; send words alone" }]);
    const problem = `has ${given.length} pictures, at most ${most} are taken; send fewer, or raise MAX_PICTURES`;
    throw AppError.invalid([{ field: message, problem }]);
  }
  const read = given.map(({ field, url, detail: wanted }) => ({ field, read: readPicture(url, wanted) }));
  const wrong = read.flatMap(({ field, read: one }) => ("problem" in one ? [{ field, ...one }] : []));
  const problems = (isTooLarge: boolean): Problem[] =>
    wrong.filter((one) => one.isTooLarge === isTooLarge).map(({ field, problem }) => ({ field, problem }));
  if (problems(false).length > 0) throw AppError.invalid(problems(false));
  if (wrong.length > 0) throw tooLarge(problems(true));
  const pictures = read.flatMap(({ read: one }) => ("problem" in one ? [] : [one]));
  const bytes = pictures.reduce((sum, { file }) => sum + (file?.byteCount ?? 0), 0);
  if (bytes <= MOST_BYTES_OF_MESSAGE) return pictures;
  const problem = `has pictures of ${bytes} bytes, at most ${MOST_BYTES_OF_MESSAGE} are taken; make them smaller, or send fewer`;
  throw tooLarge([{ field: message, problem }]);
}

/** The words and pictures of a body's `message`, which may be parts; null for anything else. Throws what `readPictures` throws. */
export function readParts(body: unknown, mostPictures: number): { words: string; pictures: Picture[] } | null {
  const { message } = (typeof body === "object" ? (body ?? {}) : {}) as { message?: unknown };
  if (!Array.isArray(message)) return null;
  const { message: parts } = parseRequest(z.object({ message: MessageParts }), { message });
  const words = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const given = parts.flatMap((part, index) =>
    part.type === "image_url" ? [toGivenPicture(`message.${index}.image_url`, part.image_url)] : [],
  );
  return { words: given.length > 0 && words.trim() === "" ? "" : words, pictures: readPictures(given, "message", mostPictures) };
}

/** For a request's key. */
export const whichPictures = (pictures: readonly Picture[]): string[] =>
  pictures.map(({ url, detail: wanted, file }) => [file?.hash ?? url, wanted ?? ""].join(" "));
