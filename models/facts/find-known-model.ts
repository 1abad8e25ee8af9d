import type { KnownModel } from "./known-model.ts";
import { KNOWN_MODELS } from "./known-model-table.ts";

/** Names are written in many ways: `anthropic/claude-sonnet-4.5`, `claude-sonnet-4-5-20250929`. */
export function canonicalModelName(name: string): string {
  const own = name.toLowerCase().split("/").at(-1) ?? "";
  return own
    .replace(/:(?:free|exacto|beta|thinking|latest|nitro|floor)$/, "")
    .replace(/[-@](?:20\d{6}|20\d\d-\d\d-\d\d)$/, "")
    .replaceAll(".", "-");
}

export function findKnownModel(name: string): KnownModel | null {
  return KNOWN_MODELS[canonicalModelName(name)] ?? null;
}
