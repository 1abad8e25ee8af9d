import type { NewStep, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import type { Agent } from "../../turn/agent.ts";
import { type AgentTurn, resumeFrom } from "../agent-turn.ts";

/** The steps of one run: those of the task, or of the agent that answers. */
export const ownSteps = (
  { earlier, held }: Pick<AgentTurn, "earlier" | "held">,
  { name }: Pick<Agent, "name">,
  task: number,
): StepOfMessage[] => earlier.filter((step) => step.turnId === held.turnId && step.task === task && step.agent === name);

const begun = new WeakMap<AgentTurn["progress"], Promise<unknown>>();

/**
 * Stores steps before they run, with what the turn needs to go on behind them: where all of its runs stand at that moment. One statement
 * after the other, so that no older account replaces a newer one. `unsent`: tokens of them that are not sent. False: this process no longer
 * has the turn.
 */
export function beginSteps(turn: AgentTurn, steps: readonly NewStep[], unsent = 0): Promise<boolean> {
  if (steps.length === 0) return Promise.resolve(true);
  const { held, signal, leaseMs, progress } = turn;
  const store = () => {
    const state = resumeFrom(turn);
    const goesOn = { leaseMs, state: { ...state, characters: state.characters - unsent } };
    return retryWhileUnreachable(() => turn.steps.begin(held, steps, goesOn), signal);
  };
  const stored = (begun.get(progress) ?? Promise.resolve()).then(store, store);
  begun.set(
    progress,
    stored.catch(() => undefined),
  );
  return stored;
}
