import { runInNewContext } from "node:vm";

/** Milliseconds of one check. A stranger's patterns and references may take for ever. */
const CHECK_MS = 250;

/**
 * Throws when it takes too long twice, also in the middle of a regular expression: a busy machine may have held up the first. Costs about a
 * millisecond.
 */
export function inTime<Result>(check: () => Result, isAgain = false): Result {
  try {
    return runInNewContext("check()", { check }, { timeout: CHECK_MS }) as Result;
  } catch (thrown) {
    const { code } = thrown as { code?: unknown };
    if (isAgain || code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw thrown;
    return inTime(check, true);
  }
}
