/** Without NUL, and valid UTF-8. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

/** A jsonb column refuses NUL and half a surrogate pair, even escaped. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
