/** The arguments of a call: a JSON object, or nothing for an empty one; null for any other text. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The arguments as they are shown and stored: an object, or what the model sent. */
export function shownArguments({ arguments: given }: { arguments: string }): unknown {
  return parseArguments(given) ?? given;
}
