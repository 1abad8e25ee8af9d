import type { QuestionStore } from "../../stores/postgres/agents/question-store.ts";
import type { TurnStore } from "../../stores/postgres/turns/turn-store.ts";
import { failedTurnOutcome, turnCancelled } from "../../turn/outcome.ts";
import type { ResumedTurn } from "../../turn/resumed-turn.ts";

/** The most turns that one process resumes at a time. */
const MOST_AT_ONCE = 10;
/** Milliseconds between two looks. */
const LEAST_PAUSE_MS = 100;
const RETRY_MS = 1_000;

/** Ends a cancelled turn that no process runs. */
export async function endWaiting(turns: Pick<TurnStore, "finish">, { state, ...held }: ResumedTurn): Promise<void> {
  const { outcome, ifSuperseded } = failedTurnOutcome(turnCancelled().toContent(), undefined);
  const { routeDecision: route_decision, notices } = state;
  const soFar = { route_decision, notices, usage: state.soFar.usage, agent: state.given.requestedAgent, steps: state.soFar.steps };
  await turns.finish(held, null, [], { outcome: { ...outcome, ...soFar }, ifSuperseded });
}

export interface WaitingTurnsParts {
  questions: Pick<QuestionStore, "takeDue" | "untilDue">;
  turns: Pick<TurnStore, "finish">;
  leaseMs: number;
  goOn: (resumed: ResumedTurn) => Promise<{ ended: Promise<unknown> }>;
  onError: (error: unknown) => void;
}

export type WaitingTurns = ReturnType<typeof makeWaitingTurns>;

/**
 * Resumes turns whose questions have expired, or whose process died. One timer serves all waiting turns; it fires when the
 * next is due.
 */
export function makeWaitingTurns({ questions, turns, leaseMs, goOn, onError }: WaitingTurnsParts) {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Infinity;
  let looking: Promise<void> | null = null;
  let isStopped = false;
  let going = 0;

  async function take(resumed: ResumedTurn): Promise<void> {
    going++;
    try {
      if (resumed.isCancelled) await endWaiting(turns, resumed);
      else await (await goOn(resumed)).ended;
    } catch (error) {
      onError(error);
    } finally {
      going--;
      lookIn(0);
    }
  }

  async function look(): Promise<void> {
    dueAt = Infinity;
    try {
      const free = MOST_AT_ONCE - going;
      const taken = free > 0 ? await questions.takeDue(free, leaseMs) : [];
      for (const resumed of taken) void take(resumed);
      const next = going < MOST_AT_ONCE ? await questions.untilDue() : null; // the next look comes when one of them ends
      if (next !== null) lookIn(next);
    } catch (error) {
      onError(error);
      lookIn(RETRY_MS);
    }
  }

  function startLooking(): void {
    looking = look().finally(() => {
      looking = null;
      if (dueAt < Infinity) schedule();
    });
  }

  function schedule(): void {
    clearTimeout(timer);
    if (isStopped || looking) return;
    timer = setTimeout(startLooking, Math.max(LEAST_PAUSE_MS, dueAt - performance.now())).unref();
  }

  function lookIn(milliseconds: number): void {
    const wanted = performance.now() + milliseconds;
    if (wanted >= dueAt) return;
    dueAt = wanted;
    schedule();
  }

  return {
    lookIn,
    /** Resolves when no look is under way; the turns that it took go on. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
