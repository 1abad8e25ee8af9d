import type { ToolCallEvent, ToolResultEvent, TurnStep } from "../../api/types.ts";

/** A running or stored call of a tool. */
export interface Act {
  callId: string;
  agent: string;
  name: string;
  arguments: unknown;
  /** Null while it runs. */
  output: string | null;
  /** Null while it runs, and for ever when its process died. */
  ok: boolean | null;
  ms: number | null;
  isCut: boolean;
}

export function beginAct(acts: readonly Act[], { call_id: callId, agent, name, arguments: given }: ToolCallEvent): Act[] {
  return [...acts.filter((act) => act.callId !== callId || act.agent !== agent), startedAct({ callId, agent, name, arguments: given })];
}

const startedAct = (call: Pick<Act, "callId" | "agent" | "name" | "arguments">): Act => ({
  ...call,
  output: null,
  ok: null,
  ms: null,
  isCut: false,
});

/** After a reload the call itself may have been missed. */
export function endAct(acts: readonly Act[], { call_id: callId, agent, name, ok, output, cut: isCut, ms }: ToolResultEvent): Act[] {
  const isIt = (act: Act): boolean => act.callId === callId && act.agent === agent && act.ok === null;
  const known = acts.some(isIt) ? acts : [...acts, startedAct({ callId, agent, name, arguments: null })];
  return known.map((act) => (isIt(act) ? { ...act, ok, output, ms, isCut } : act));
}

export function toActs(steps: readonly TurnStep[]): Act[] {
  return steps
    .filter(({ kind }) => kind === "tool")
    .map(({ call_id, seq, agent, name, arguments: given, output, ok, ms }) => {
      return { callId: call_id ?? String(seq), agent, name, arguments: given, output, ok, ms, isCut: false };
    });
}
