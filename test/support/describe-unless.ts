import { describe } from "@jest/globals";

/** A block of tests, skipped when there is a reason, which its title then gives. */
export function describeUnless(reason: string | undefined, title: string, suite: () => void): void {
  if (reason === undefined) describe(title, suite);
  else describe.skip(`${title} (skipped: ${reason})`, suite);
}
