import { keyOf } from "./key-of.ts";
import { onlyOneOf } from "./relation-roles.ts";
import type { Slot } from "./slots.ts";

/** What an expression has caught by name. */
export type Groups = Record<string, string | undefined>;

/** What a fact is about besides its value: whose relation, which favourite; of two things compared both, whichever comes first. */
export function aboutOf(slot: Slot, groups: Groups, value: string): string {
  if (slot === "relation") return groups["role"] === undefined ? "partner" : (onlyOneOf(groups["role"]) ?? groups["role"].toLowerCase());
  if (slot === "favourite") return keyOf(groups["kind"] ?? "");
  return slot === "prefer" && groups["other"] !== undefined ? [keyOf(value), keyOf(groups["other"])].sort().join(" / ") : "";
}

/** The value as it is compared; a place is the same with its country or without. */
export function valueKey(slot: Slot, value: string): string {
  return keyOf(slot === "home" || slot === "origin" ? (value.split(/[,，]/)[0] ?? value) : value);
}
