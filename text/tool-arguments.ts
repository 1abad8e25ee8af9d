import JSON5 from "json5";
import { isTooDeep } from "./nesting.ts";
import { mayBeUnstorable, storableText, storableValue } from "./storable-text.ts";

/** Raw line breaks and tabs in texts, which JSON and JSON5 refuse. */
const RAW_IN_TEXT = /"(?:[^"\\]|\\.)*"/gs;
const ESCAPED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Spare commas, single quotes and bare names have one meaning; cut-off JSON has none.
    return JSON5.parse(text.replace(RAW_IN_TEXT, (inText) => inText.replace(/[\n\r\t]/g, (character) => ESCAPED[character] ?? character)));
  }
}

/** The storable JSON object of a call's arguments, its small faults mended; empty for no text; null for anything else. */
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

/** The arguments as shown and stored: an object, or what the model sent. */
export function shownArguments({ arguments: given }: { arguments: string }): unknown {
  return parseArguments(given) ?? storableText(given);
}
