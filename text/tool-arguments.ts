import { isTooDeep } from "./nesting.ts";
import { storableText } from "./storable-text.ts";

/** What a jsonb column refuses, also in the names of fields. */
const UNSTORABLE = /\0|\p{Cs}|\\u0000|\\ud[89a-f]/iu;

function storable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(storable);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storableText(name), storable(inner)]));
}

/** The arguments of a call: a JSON object that can be stored, or nothing for an empty one; null for any other text. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value) || isTooDeep(value)) return null;
    return (UNSTORABLE.test(text) ? storable(value) : value) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** The arguments as they are shown and stored: an object, or what the model sent. */
export function shownArguments({ arguments: given }: { arguments: string }): unknown {
  return parseArguments(given) ?? storableText(given);
}
