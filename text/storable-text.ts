/** The text as every store accepts it: without NUL, and valid UTF-8. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

/** JSON for a jsonb column, which refuses NUL and half a surrogate pair, even escaped. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
