import type { RouteDecision } from "./state.ts";

/** Whether the turn only tries the one base there is: without a fitting passage it has no documents. */
export function looksOnly({ routeDecision: decision }: { routeDecision?: RouteDecision }): boolean {
  return decision?.method === "default" && decision.kb_prefix !== GENERAL;
}

/** The kb_prefix of turns without documents. */
export const GENERAL = "general";
