import type { Dialect } from "./dialect.ts";
import { DIALECTS_OF_BYTES } from "./dialects-of-bytes.ts";
import { DIALECTS_OF_CALLS } from "./dialects-of-calls.ts";
import { DIALECTS_OF_ENDS } from "./dialects-of-ends.ts";
import { DIALECTS_OF_TEXT } from "./dialects-of-text.ts";
import { DIALECTS_OF_THOUGHTS } from "./dialects-of-thoughts.ts";

/** The dialects of OpenAI's protocol that servers were seen to speak. */
export const DIALECTS: readonly Dialect[] = [
  ...DIALECTS_OF_TEXT,
  ...DIALECTS_OF_THOUGHTS,
  ...DIALECTS_OF_CALLS,
  ...DIALECTS_OF_ENDS,
  ...DIALECTS_OF_BYTES,
];

export function dialectNamed(name: string): Dialect {
  const [dialect, another] = DIALECTS.filter((one) => one.name === name);
  if (!dialect || another) throw new Error(`There is not one dialect "${name}".`);
  return dialect;
}
