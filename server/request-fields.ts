import { validate as isUuid } from "uuid";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import { decodeCursor, type PageRequest } from "../stores/page.ts";

const ID_LENGTH = 200;

/** Where a text holds something that Postgres cannot keep as UTF-8, in words; undefined when it holds nothing of the kind. */
export function unstorable(text: string): string | undefined {
  const nul = text.indexOf("\0");
  if (nul >= 0) return `holds a NUL character (U+0000) at position ${nul}; remove it`;
  if (!text.isWellFormed()) return "holds half of a surrogate pair, as when a text is cut inside an emoji; send whole characters";
  return undefined;
}

/** A text that can be stored as it is. */
export const storableText = z
  .string({ error: ({ input }) => (input === undefined ? "is missing; send a string" : "must be a string") })
  .check((context) => {
    const problem = unstorable(context.value);
    if (problem) context.issues.push({ code: "custom", input: context.value, message: problem });
  });

/** An id that callers choose: 1 to 200 characters of any script. Clients resolve `.` and `..` in an address, however they are encoded. */
export const callerId = storableText
  .refine((text) => text !== "" && [...text].length <= ID_LENGTH, `must have 1 to ${ID_LENGTH} characters`)
  .refine((text) => text !== "." && text !== "..", 'cannot be "." or "..", which no address can hold; choose another')
  .meta({ minLength: 1, maxLength: ID_LENGTH });

const EXTERNAL_ID = `must be a string of 1 to ${ID_LENGTH} characters`;
/** What something is called where it comes from. */
export const externalId = storableText
  .refine((text) => text !== "" && text.length <= ID_LENGTH, EXTERNAL_ID)
  .meta({ minLength: 1, maxLength: ID_LENGTH });

const MAX_METADATA_CHARACTERS = 16_000;

/** Objects and arrays within each other: far fewer than what writing JSON, here or in Postgres, has the stack for. */
const MAX_LEVELS = 100;
export const TOO_DEEP = `nests deeper than ${MAX_LEVELS} levels; flatten it`;

/** Whether a value from JSON nests so deep that it cannot be written again. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** Free-form, as long as Postgres can keep it. */
export const metadata = z
  .record(z.string(), z.unknown(), "must be a JSON object")
  .default({})
  .superRefine((value, context) => {
    if (isTooDeep(value)) return context.addIssue(TOO_DEEP);
    const text = JSON.stringify(value);
    if (text.length > MAX_METADATA_CHARACTERS)
      context.addIssue(`has ${text.length} characters, at most ${MAX_METADATA_CHARACTERS} are taken`);
    const problem = text.includes("\\u0000") ? "holds a NUL character (U+0000); remove it" : unstorable(text);
    if (problem) context.addIssue(problem);
    const given = value["external_id"];
    if (given !== undefined && !externalId.safeParse(given).success) context.addIssue(`external_id ${EXTERNAL_ID}`);
  })
  .meta({ description: `Free-form, at most ${MAX_METADATA_CHARACTERS} characters of JSON and ${MAX_LEVELS} levels of nesting.` });

/** The id in a path. Throws AppError `invalid_request` when it is no UUID. */
export function parseUuid(field: string, value: string | string[] | undefined): string {
  if (typeof value === "string" && isUuid(value)) return value.toLowerCase();
  throw AppError.invalid([{ field, problem: `"${String(value).slice(0, 80)}" is not a UUID; pass an id as this service gave it` }]);
}

/** An id in a body or query. */
export const uuidField = z
  .string("must be given once")
  .refine((text) => isUuid(text), "is not a UUID; pass an id as this service gave it")
  .transform((text) => text.toLowerCase())
  .meta({ format: "uuid" });

/** A whole number in a query string. */
export function wholeNumberField(minimum: number, maximum: number) {
  const expected = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string("must be given once")
    .regex(/^\d{1,9}$/, expected)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, expected)
    .meta({ type: "integer", minimum, maximum });
}

/** `limit` and `after` of a list. */
export const pageQuery = {
  limit: wholeNumberField(1, 200).default(50),
  after: z.string("must be given once").optional().describe("The `next` of the page before."),
};
export const PageQuery = z.object(pageQuery);

export function toPageRequest({ limit, after }: { limit: number; after?: string | undefined }): PageRequest {
  return { limit, after: after === undefined ? null : decodeCursor(after) };
}
