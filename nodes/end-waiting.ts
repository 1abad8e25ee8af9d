import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { failedTurnOutcome, turnCancelled } from "../turn/outcome.ts";
import type { ResumedTurn } from "../turn/resumed-turn.ts";

/** Ends a turn that waited, and whose question is closed as cancelled. */
export async function endWaiting(turns: Pick<TurnStore, "finish">, { state, ...held }: ResumedTurn): Promise<void> {
  const { outcome, ifSuperseded } = failedTurnOutcome(turnCancelled().toContent(), undefined);
  const { routeDecision: route_decision, notices } = state;
  const soFar = { route_decision, notices, usage: state.soFar.usage, agent: held.answered.question.agent, steps: state.soFar.steps };
  await turns.finish(held, null, [], { outcome: { ...outcome, ...soFar }, ifSuperseded });
}
