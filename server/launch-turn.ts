import type { Logger } from "pino";
import type { AppError } from "../errors/app-error.ts";
import type { ConversationGraph } from "../graph/build-graph.ts";
import { startTurn, type LastEvent, type RunningTurn, type TurnInput } from "../graph/start-turn.ts";
import type { OnBusy } from "../graph/turn-context.ts";
import type { Owner } from "../stores/owner.ts";
import { KeyTaken, type TurnKey } from "../stores/postgres/turn-key.ts";
import { causeFacts, type CauseFacts } from "./cause-facts.ts";
import type { TurnLimits } from "./limits/turn-limits.ts";
import type { Metrics } from "./metrics.ts";
import type { RecentTurns } from "./recent-turns.ts";
import type { RunningTurns } from "./running-turns.ts";

export interface LaunchTurnParts {
  graph: ConversationGraph;
  running: RunningTurns;
  limits: TurnLimits;
  metrics: Metrics;
  recentTurns: RecentTurns;
  log: Logger;
}

/** Starts a turn. Throws AppError `shutting_down` once the service is stopping, and what TurnLimits throws. */
export type LaunchTurn = (input: TurnInput & Owner, options: { onBusy: OnBusy; key?: TurnKey }) => Promise<RunningTurn>;

/** One line for each turn, when it ends. */
function logEnd(log: Logger, turnId: string, { status, content }: LastEvent, causes: CauseFacts[]): void {
  if (status === "error") {
    log.warn({ turn_id: turnId, code: content.code, causes }, "turn failed");
    return;
  }
  const { conversation_id, timings, usage, degraded } = content;
  const { total_ms: ms, first_token_ms } = timings;
  log.info({ turn_id: turnId, conversation_id, ms, first_token_ms, tokens: usage.total_tokens, degraded }, "turn done");
}

/** How every turn is started: registered while it runs, counted and logged when it ends. */
export function makeLaunchTurn({ graph, running, limits, metrics, recentTurns, log }: LaunchTurnParts): LaunchTurn {
  return async function launchTurn(input, options) {
    const causes: CauseFacts[] = [];
    let isToldByAnother = false;
    const onError = (error: AppError): void => {
      isToldByAnother ||= error instanceof KeyTaken;
      causes.push(...causeFacts(error));
    };
    const turn = await limits.begin(input, (onUsage) => {
      running.assertOpen();
      return startTurn(graph, input, { ...options, onUsage, onError });
    });
    running.add(turn, input);
    void turn.ended.then((last) => {
      if (isToldByAnother) return; // the turn that has its key counts, where it runs
      metrics.turnEnded(last);
      recentTurns.add(input, last);
      logEnd(log, turn.turnId, last, causes);
    });
    return turn;
  };
}
