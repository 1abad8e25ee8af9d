import { describe, test } from "@jest/globals";

/** A block of tests. When there is a reason against it, it is one skipped test, whose title ends with the reason as `.ci/run` wants it. */
export function describeUnless(reason: string | undefined, title: string, suite: () => void): void {
  if (reason === undefined) describe(title, suite);
  else test.skip(`${title} (skipped: ${reason})`, () => {});
}
