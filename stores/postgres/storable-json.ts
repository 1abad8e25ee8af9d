import { storableText } from "../search/storable-text.ts";

/** A value as JSON that a jsonb column takes: it refuses NUL and half a surrogate pair, also when they are escaped. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
