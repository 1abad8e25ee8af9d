import { z } from "zod";
import { validate as isUuid } from "uuid";
import querystring, { type ParsedUrlQuery } from "node:querystring";
import { AppError, type Problem } from "../../errors/app-error.ts";
import { type Cursor, decodeCursor, type PageRequest } from "../../stores/page.ts";
import { isTooDeep, MAX_LEVELS } from "../../text/nesting.ts";
import { LONGEST_INSTRUCTIONS } from "../../turn/context.ts";

export const MAX_PROBLEMS = 50;
const MAX_NAME_CHARACTERS = 200;
/** Nested ones included; ten times what the largest import needs. */
export const MAX_VALUES = 500_000;

/** `within`: the place of the parsed value in the body. */
export function toProblems(issue: z.core.$ZodIssue, within: readonly PropertyKey[] = []): Problem[] {
  const path = [...within, ...issue.path];
  if (issue.code !== "unrecognized_keys") return [{ field: path.join(".") || "body", problem: issue.message }];
  return issue.keys.map((key) => {
    return { field: [...path, key.slice(0, MAX_NAME_CHARACTERS)].join("."), problem: "is not a known field; remove it" };
  });
}

/** Not recursive, since a body may be nested deeply. */
function holdsMoreThan(most: number, value: unknown): boolean {
  const waiting = [value];
  for (let counted = 0; waiting.length > 0; counted++) {
    if (counted + waiting.length > most) return true;
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    for (const inner of Object.values(next)) if (waiting.push(inner) > most) return true;
  }
  return false;
}

/** Throws AppError `invalid_request` that names the first fifty wrong fields. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  if (holdsMoreThan(MAX_VALUES, value))
    throw AppError.invalid([{ field: "body", problem: `holds more than ${MAX_VALUES} values; send it in several calls` }]);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue));
  const more = problems.length - MAX_PROBLEMS;
  const rest = more > 0 ? [{ field: "body", problem: `has ${more} more problems` }] : [];
  throw AppError.invalid([...problems.slice(0, MAX_PROBLEMS), ...rest]);
}

const ID_LENGTH = 200;

export const HALF_PAIR = "holds half of a surrogate pair, as when a text is cut inside an emoji; send whole characters";

/** What Postgres cannot store as UTF-8. */
function unstorable(text: string): string | undefined {
  const nul = text.indexOf("\0");
  if (nul >= 0) return `holds a NUL character (U+0000) at position ${nul}; remove it`;
  if (!text.isWellFormed()) return HALF_PAIR;
  return undefined;
}

export const storableText = z
  .string({ error: ({ input }) => (input === undefined ? "is missing; send a string" : "must be a string") })
  .check((context) => {
    const problem = unstorable(context.value);
    if (problem) context.issues.push({ code: "custom", input: context.value, message: problem });
  });

/** For the model; undefined when blank. */
export const instructionsText = storableText
  .refine((text) => [...text].length <= LONGEST_INSTRUCTIONS, `has more than ${LONGEST_INSTRUCTIONS} characters; shorten it`)
  .transform((text) => text.trim() || undefined)
  .meta({ maxLength: LONGEST_INSTRUCTIONS });

/** Callers choose it. Clients resolve `.` and `..` in a path. */
export const callerId = storableText
  .refine((text) => text !== "" && [...text].length <= ID_LENGTH, `must have 1 to ${ID_LENGTH} characters`)
  .refine((text) => text !== "." && text !== "..", 'cannot be "." or "..", which no address can hold; choose another')
  .meta({ minLength: 1, maxLength: ID_LENGTH });

const EXTERNAL_ID = `must be a string of 1 to ${ID_LENGTH} characters`;
/** From another system. */
export const externalId = storableText
  .refine((text) => text !== "" && text.length <= ID_LENGTH, EXTERNAL_ID)
  .meta({ minLength: 1, maxLength: ID_LENGTH });

const MAX_METADATA_CHARACTERS = 16_000;

export const TOO_DEEP = `nests deeper than ${MAX_LEVELS} levels; flatten it`;

export const givenMetadata = z
  .record(z.string(), z.unknown(), "must be a JSON object")
  .superRefine((value, context) => {
    if (isTooDeep(value)) return context.addIssue(TOO_DEEP);
    const text = JSON.stringify(value);
    if (text.length > MAX_METADATA_CHARACTERS)
      context.addIssue(`has ${text.length} characters, at most ${MAX_METADATA_CHARACTERS} are taken`);
    if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) context.addIssue("holds a NUL character (U+0000); remove it");
    const given = value["external_id"];
    if (given !== undefined && !externalId.safeParse(given).success) context.addIssue(`external_id ${EXTERNAL_ID}`);
  })
  .meta({ description: `Free-form, at most ${MAX_METADATA_CHARACTERS} characters of JSON and ${MAX_LEVELS} levels of nesting.` });
export const metadata = givenMetadata.default({});

/** Throws AppError `invalid_request`. */
export function parseUuid(field: string, value: string | string[] | undefined): string {
  if (typeof value === "string" && isUuid(value)) return value.toLowerCase();
  throw AppError.invalid([{ field, problem: `"${String(value).slice(0, 80)}" is not a UUID; pass an id as this service gave it` }]);
}

export const uuidField = z
  .string("must be given once")
  .refine((text) => isUuid(text), "is not a UUID; pass an id as this service gave it")
  .transform((text) => text.toLowerCase())
  .meta({ format: "uuid" });

/** In a query string. */
export function wholeNumberField(minimum: number, maximum: number) {
  const expected = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string("must be given once")
    .regex(/^\d{1,9}$/, expected)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, expected)
    .meta({ type: "integer", minimum, maximum });
}

export const pageQuery = {
  limit: wholeNumberField(1, 200).default(50),
  after: z.string("must be given once").optional().describe("The `next` of the page before."),
};
export const PageQuery = z.object(pageQuery);
/** The query of a list whose pages end only where they are too large. */
export const AfterQuery = z.object({ after: pageQuery.after });

export function toPageRequest({ limit, after }: { limit: number; after?: string | undefined }): PageRequest {
  return { limit, after: after === undefined ? null : decodeCursor(after) };
}

export function parseAfter(query: unknown): Cursor | null {
  return toPageRequest({ ...parseRequest(AfterQuery, query), limit: Infinity }).after;
}

export const DryRunQuery = z.object({
  dry_run: z.enum(["true", "false"], "must be true or false").default("false").describe("`true`: it is only checked, and not kept."),
});
export const isDryRun = ({ query }: { query: unknown }): boolean => parseRequest(DryRunQuery, query).dry_run === "true";

/** Null when it is not UTF-8. */
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/** For Express. Throws AppError `invalid_request` for broken percent-encoding, which Node would accept. */
export function parseQuery(text: string | null | undefined): ParsedUrlQuery {
  const given = text ?? "";
  for (const part of given.split("&")) {
    const [name = "", ...values] = part.split("=");
    if (decoded(part) !== null) continue;
    const field = decoded(name) ?? "query";
    throw AppError.invalid([{ field, problem: `"${values.join("=").slice(0, 80)}" is not percent-encoded UTF-8; encode it again` }]);
  }
  return querystring.parse(given, "&", "=", { maxKeys: 0 });
}
