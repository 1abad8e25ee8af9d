import type { RouteDecision } from "./state.ts";
import { GENERAL } from "../nodes/routing/route-by-words.ts";

/** Whether the turn only looks into the one base there is: without a passage that fits it is a turn without documents. */
export function looksOnly({ routeDecision: decision }: { routeDecision?: RouteDecision }): boolean {
  return decision?.method === "default" && decision.kb_prefix !== GENERAL;
}
