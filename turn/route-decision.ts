import type { RouteDecision } from "./state.ts";

/** Whether the turn only looks into the one base there is: without a passage that fits it is a turn without documents. */
export function looksOnly({ routeDecision: decision }: { routeDecision?: RouteDecision }): boolean {
  return decision?.method === "default" && decision.kb_prefix !== GENERAL;
}

/** The kb_prefix that means: no documents. */
export const GENERAL = "general";
