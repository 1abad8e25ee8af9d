import type { Step } from "../../stores/postgres/agents/step-store.ts";
import type { NodeEvent } from "../../turn/events.ts";
import { PlanItem } from "../../turn/events.ts";
import { z } from "zod";
import { handoffOf } from "../team/handoff.ts";

/** The characters of an output in its event; the step has all. */
export const SHOWN_CHARACTERS = 4_000;

export const shownOutput = (output: string): string => output.slice(0, SHOWN_CHARACTERS).toWellFormed();

const Plan = z.object({ items: z.array(PlanItem) });

type CallEvent = Extract<NodeEvent, { status: "tool_call" | "tool_result" | "plan" | "handoff" }>;

/** The events of a turn's calls, by its steps, for a reader who was away. */
export function toldAgain(steps: readonly Step[]): CallEvent[] {
  return steps.flatMap(({ kind, callId, agent, path, name, arguments: given, output, ok, startedAt, endedAt }): CallEvent[] => {
    if (kind !== "tool" || callId === null) return [];
    const call: CallEvent = { status: "tool_call", content: { call_id: callId, agent, path, name, arguments: given } };
    if (endedAt === null) return [call];
    const handed = ok ? handoffOf(agent, { name, arguments: given }) : null;
    const plan = name === "todo_write" ? Plan.safeParse(given).data : undefined;
    const shown = shownOutput(output ?? "");
    const result = { call_id: callId, agent, path, name, ok: ok === true, output: shown, cut: shown.length < (output ?? "").length };
    const ms = endedAt.getTime() - startedAt.getTime();
    return [
      call,
      ...(plan ? [{ status: "plan" as const, content: plan }] : []),
      { status: "tool_result", content: { ...result, ms } },
      ...(handed ? [{ status: "handoff" as const, content: handed }] : []),
    ];
  });
}
