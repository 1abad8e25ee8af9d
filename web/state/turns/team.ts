import type { Act } from "./acts.ts";

/** The agent that is built in. */
export const ASSISTANT = "assistant";

/** A call, with the calls of the member that does its task. */
export interface TeamAct {
  act: Act;
  below: TeamAct[];
}

const textIn = (given: unknown, field: string): string => {
  const value = (given as Record<string, unknown> | null)?.[field];
  return typeof value === "string" ? value : "";
};

/** What a call asks of a member; null: it asks none. */
export function taskOf({ name, arguments: given }: Act): { member: string; task: string; context: string } | null {
  const member = name === "ask_agent" ? textIn(given, "agent") : "";
  return member === "" ? null : { member, task: textIn(given, "task"), context: textIn(given, "context") };
}

/** The calls of each member below the task that its agent gave it last. Those whose task is unknown stand on top. */
export function withTeams(acts: readonly Act[]): TeamAct[] {
  const top: TeamAct[] = [];
  const tasks = new Map<string, TeamAct>();
  for (const act of acts) {
    const placed: TeamAct = { act, below: [] };
    (tasks.get(act.path.join(" "))?.below ?? top).push(placed);
    const task = taskOf(act);
    if (task) tasks.set([...act.path, task.member].join(" "), placed);
  }
  return top;
}

export interface HandedOver {
  to: string;
  reason: string;
}

/** The calls that handed the turn to another agent, in order. An agent does so once. */
export function handoffsIn(acts: readonly Act[]): Map<Act, HandedOver> {
  const seen = new Set<string>();
  return new Map(
    acts.flatMap((act) => {
      if (act.name !== "handoff_to" || act.ok !== true || seen.has(act.agent)) return [];
      seen.add(act.agent);
      return [[act, { to: textIn(act.arguments, "agent"), reason: textIn(act.arguments, "reason") }]];
    }),
  );
}

/** Who answers the next turns after one with these calls; null: they are routed. A turn that names an agent ends a handoff. */
export function activeAfter(before: string | null, named: string | null | undefined, acts: readonly Act[]): string | null {
  return [...handoffsIn(acts).values()].at(-1)?.to ?? (named ? null : before);
}

/** Names of agents, from the one that answers to the one at work. */
export const pathInWords = (path: readonly string[]): string => path.join(" › ");
