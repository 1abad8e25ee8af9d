import type { ToolCallEvent, ToolResultEvent, TurnStep } from "../../api/types.ts";

/** A running or stored call of a tool. */
export interface Act {
  callId: string;
  agent: string;
  /** The agents from the one that answers to the one that calls. */
  path: readonly string[];
  name: string;
  arguments: unknown;
  /** Null while it runs. */
  output: string | null;
  /** Null while it runs, and for ever when its process died. */
  ok: boolean | null;
  ms: number | null;
  isCut: boolean;
}

/** Ids of calls differ within a run only. */
const isOf = (act: Act, { call_id: callId, path }: Pick<ToolCallEvent, "call_id" | "path">): boolean =>
  act.callId === callId && act.path.join() === path.join();

export function beginAct(acts: readonly Act[], call: ToolCallEvent): Act[] {
  return [...acts.filter((act) => !isOf(act, call)), startedAct(call)];
}

const startedAct = ({ call_id: callId, agent, path, name, arguments: given }: ToolCallEvent): Act => {
  return { callId, agent, path, name, arguments: given, output: null, ok: null, ms: null, isCut: false };
};

/** After a reload the call itself may have been missed. */
export function endAct(acts: readonly Act[], result: ToolResultEvent): Act[] {
  const { ok, output, cut: isCut, ms } = result;
  const isIt = (act: Act): boolean => isOf(act, result) && act.ok === null;
  const known = acts.some(isIt) ? acts : [...acts, startedAct({ ...result, arguments: null })];
  return known.map((act) => (isIt(act) ? { ...act, ok, output, ms, isCut } : act));
}

export function toActs(steps: readonly TurnStep[]): Act[] {
  return steps
    .filter(({ kind }) => kind === "tool")
    .map(({ call_id, seq, agent, path, name, arguments: given, output, ok, ms }) => {
      return { callId: call_id ?? String(seq), agent, path, name, arguments: given, output, ok, ms, isCut: false };
    });
}
