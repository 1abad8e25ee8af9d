import { runInNewContext } from "node:vm";
import { type JSONSchema, Validator } from "@langchain/core/utils/json_schema";

/** Milliseconds of one check: a stranger's patterns, references and `uniqueItems` may take for ever. */
const CHECK_MS = 250;

/**
 * Throws when it takes too long twice, even inside a regular expression: a busy machine may have delayed the first. Costs about a
 * millisecond.
 */
function inTime<Result>(check: () => Result, isAgain = false): Result {
  try {
    return runInNewContext("check()", { check }, { timeout: CHECK_MS }) as Result;
  } catch (thrown) {
    const { code } = thrown as { code?: unknown };
    if (isAgain || code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw thrown;
    return inTime(check, true);
  }
}

type Options = ConstructorParameters<typeof Validator>;
interface SchemaProblem {
  instanceLocation: string;
  error: string;
}

/** What is wrong with a value by a foreign JSON schema; with `isQuick` only the first problem. Throws when the check takes too long. */
export function checkBySchema(
  schema: JSONSchema,
  value: unknown,
  { draft, isQuick }: { draft: Options[1]; isQuick: boolean },
): readonly SchemaProblem[] {
  return inTime(() => new Validator(schema as Options[0], draft, isQuick).validate(value)).errors;
}
