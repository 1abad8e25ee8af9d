import type { z } from "zod";
import { AppError, type Problem } from "../errors/app-error.ts";

/** How an issue of zod reads to a client. */
function toProblems(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ field: [...issue.path, key].join("."), problem: "is not a known field; remove it" }));
  return [{ field: issue.path.join(".") || "body", problem: issue.message }];
}

/** `value` as the schema describes it. Throws AppError `invalid_request` naming every field that is wrong. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw AppError.invalid(parsed.error.issues.flatMap(toProblems));
}
