import type { z } from "zod";
import { AppError, type Problem } from "../errors/app-error.ts";

/** Problems that one answer lists, and characters of a name that a client made up. */
const MAX_PROBLEMS = 50;
const MAX_NAME_CHARACTERS = 200;
/** Values of a body, those within others too: ten times what the largest import needs. Each one that is wrong costs microseconds. */
const MAX_VALUES = 500_000;

/** How an issue of zod reads to a client; `within`: where the value that was parsed stands in the body. */
export function toProblems(issue: z.core.$ZodIssue, within: readonly PropertyKey[] = []): Problem[] {
  const path = [...within, ...issue.path];
  if (issue.code !== "unrecognized_keys") return [{ field: path.join(".") || "body", problem: issue.message }];
  return issue.keys.map((key) => {
    return { field: [...path, key.slice(0, MAX_NAME_CHARACTERS)].join("."), problem: "is not a known field; remove it" };
  });
}

/** Whether a value from JSON holds more values than `most`, counted level by level, however deep. */
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

/** `value` as the schema describes it. Throws AppError `invalid_request` naming every field that is wrong, the first fifty. */
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
