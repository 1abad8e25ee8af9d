import type { StructuredToolInterface } from "@langchain/core/tools";
import type { JSONSchema } from "@langchain/core/utils/json_schema";
import { interopSafeParseAsync, isInteropZodSchema } from "@langchain/core/utils/types";
import { checkBySchema } from "../models/wire/check-by-schema.ts";

/** A model mends no more at once. */
const MOST_PROBLEMS = 20;

interface Problem {
  path: readonly PropertyKey[];
  message: string;
}

/** The first error of a JSON schema, at the innermost place. Throws when the check takes too long. */
function firstProblem(schema: JSONSchema, given: object): Problem[] {
  const last = checkBySchema(schema, given, { draft: "2019-09", isQuick: true }).at(-1);
  return last ? [{ path: last.instanceLocation.split("/").slice(1), message: last.error.replace(/\.$/, "") }] : [];
}

/** What is wrong with the arguments of a call, each problem with its field; null when they fit the tool's schema. */
export async function findWrongArguments({ schema }: Pick<StructuredToolInterface, "schema">, given: object): Promise<string | null> {
  const problems = isInteropZodSchema(schema)
    ? ((await interopSafeParseAsync(schema, given)).error?.issues ?? [])
    : firstProblem(schema, given);
  if (problems.length === 0) return null;
  const named = problems.slice(0, MOST_PROBLEMS).map(({ path, message }) => `${path.map(String).join(".") || "the arguments"}: ${message}`);
  return named.join("; ");
}
