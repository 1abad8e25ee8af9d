import JSON5 from "json5";
import { isTooDeep } from "./nesting.ts";
import { mayBeUnstorable, storableText, storableValue } from "./storable-text.ts";

/** Line breaks and tabs that stand in texts as they are. JSON5 refuses them, as JSON does. */
const RAW_IN_TEXT = /"(?:[^"\\]|\\.)*"/gs;
const ESCAPED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Commas too many, single quotes and names without quotes have one meaning; JSON that is cut off has none.
    return JSON5.parse(text.replace(RAW_IN_TEXT, (inText) => inText.replace(/[\n\r\t]/g, (character) => ESCAPED[character] ?? character)));
  }
}

/** The arguments of a call: a JSON object that can be stored, or nothing for an empty one; null for any other text. Small faults of JSON are mended. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const once: unknown = text.trim() === "" ? {} : parsed(text);
    const value = typeof once === "string" ? parsed(once) : once; // some models encode them twice
    if (typeof value !== "object" || value === null || Array.isArray(value) || isTooDeep(value)) return null;
    return (mayBeUnstorable(text) ? storableValue(value) : value) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** The arguments as they are shown and stored: an object, or what the model sent. */
export function shownArguments({ arguments: given }: { arguments: string }): unknown {
  return parseArguments(given) ?? storableText(given);
}
