import type { Step, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { canonicalJson } from "../../text/canonical-json.ts";

/** Equal for calls that ask for the same, whatever the order of keys, the blanks between them and the form of numbers. */
export const callKey = (name: string, given: unknown): string => `${name} ${canonicalJson(given)}`;

/** So often the same is a loop. */
const TIMES = 3;
/** The number of calls, and the milliseconds, that are looked at. */
const AMONG = 10;
const WITHIN_MS = 60_000;

/** A call of a turn. `at`: in milliseconds, without the time that the turn waited for people. */
export interface PastCall {
  key: string;
  at: number;
}

/** A failed call and its round. */
export interface PastFailure {
  name: string;
  output: string;
  round: number;
}

/** Two calls that alternate three times, however slowly. */
function takeTurns(calls: readonly PastCall[]): boolean {
  const last = calls.slice(-2 * TIMES);
  const [one, other] = last;
  return last.length === 2 * TIMES && one?.key !== other?.key && last.every(({ key }, index) => key === last[index % 2]?.key);
}

export type LoopGuard = ReturnType<typeof makeLoopGuard>;

/** Notices when an agent goes round in circles. */
export function makeLoopGuard(past: readonly PastCall[] = [], failed: readonly PastFailure[] = []) {
  let calls = [...past];
  const rounds = new Map<string, Set<number>>();

  /** Whether this failure came in three rounds: the model has not read the present round yet. */
  function noteFailure({ name, output, round }: PastFailure): boolean {
    const key = `${name} ${output}`;
    const seen = (rounds.get(key) ?? new Set()).add(round);
    rounds.set(key, seen);
    return seen.size >= TIMES;
  }
  for (const failure of failed) noteFailure(failure);

  return {
    /** Notes a call before it runs; returns how often it has come if that is a loop, else null. */
    noteCall(call: PastCall): number | null {
      calls = [...calls, call].slice(-AMONG);
      const same = calls.filter(({ key, at }) => key === call.key && call.at - at <= WITHIN_MS).length;
      if (same >= TIMES) return same;
      return takeTurns(calls) ? TIMES : null;
    },
    noteFailure,
    startAnew(): void {
      calls = [];
    },
  };
}

/** The ended calls among these steps, from this one on, without the time that the turn waited for people. */
export function callsBefore(steps: readonly Step[], from: number): PastCall[] {
  const waits = steps.flatMap(({ kind, startedAt, endedAt }) => {
    return kind === "question" && endedAt ? [{ from: startedAt.getTime(), ms: endedAt.getTime() - startedAt.getTime() }] : [];
  });
  return steps
    .filter(({ kind, seq, endedAt }) => kind === "tool" && seq >= from && endedAt !== null)
    .map(({ name, arguments: given, startedAt }) => {
      const began = startedAt.getTime();
      const waited = waits.filter((wait) => wait.from >= began).reduce((sum, { ms }) => sum + ms, 0);
      return { key: callKey(name, given), at: began + waited };
    });
}

/** The failures among these steps. Each answer of the model is a round. */
export function failuresBefore(steps: readonly Step[]): PastFailure[] {
  let round = 0;
  return steps.flatMap(({ kind, name, ok, output }) => {
    if (kind === "model") round++;
    return kind === "tool" && ok === false ? [{ name, output: output ?? "", round }] : [];
  });
}

/** Calls that may or may not have run. */
export function interruptedCalls(earlier: readonly StepOfMessage[]): Set<string> {
  const cutOff = earlier.filter(({ kind, endedAt }) => kind === "tool" && endedAt === null);
  return new Set(cutOff.map(({ name, arguments: given }) => callKey(name, given)));
}
