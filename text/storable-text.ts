/** Without NUL, and valid UTF-8. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

/** What a jsonb column refuses, in values and names: NUL and half a surrogate pair, even escaped. */
const UNSTORABLE = /\0|\p{Cs}|\\u0000|\\ud[89a-f]/iu;

export function mayBeUnstorable(json: string): boolean {
  return UNSTORABLE.test(json);
}

/** A JSON value that a jsonb column takes. */
export function storableValue(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(storableValue);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storableText(name), storableValue(inner)]));
}

export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  return UNSTORABLE.test(json) ? JSON.stringify(storableValue(JSON.parse(json))) : json;
}
