import { callKey, type PastCall, type PastFailure } from "./loop-guard.ts";
import type { Step, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";

/** The calls among these steps, from this one on. The time that the turn waited for people does not count. */
export function callsBefore(steps: readonly Step[], from: number): PastCall[] {
  const waits = steps.flatMap(({ kind, startedAt, endedAt }) => {
    return kind === "question" && endedAt ? [{ from: startedAt.getTime(), ms: endedAt.getTime() - startedAt.getTime() }] : [];
  });
  return steps
    .filter(({ kind, seq }) => kind === "tool" && seq >= from)
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

/** Calls of which it is not known whether they ran. */
export function interruptedCalls(earlier: readonly StepOfMessage[]): Set<string> {
  const cutOff = earlier.filter(({ kind, endedAt }) => kind === "tool" && endedAt === null);
  return new Set(cutOff.map(({ name, arguments: given }) => callKey(name, given)));
}
