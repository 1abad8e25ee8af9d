/** The text as every store can hold it: Postgres takes no NUL, and half a surrogate pair is not UTF-8. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

/** A value as JSON that a jsonb column takes: it refuses NUL and half a surrogate pair, also when they are escaped. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
