import type { LastEvent } from "../graph/start-turn.ts";

/** Turns that are remembered. */
const KEPT = 200;

/** What a turn of this process took; `code` says why it failed. Times in milliseconds. */
export interface RecentTurn {
  at: Date;
  total_ms: number | null;
  first_token_ms: number | null;
  degraded: readonly string[];
  code: string | null;
}

/** The last turns of this process, oldest first: for people who look, without a database of metrics. */
export interface RecentTurns {
  add(last: LastEvent): void;
  list(): readonly RecentTurn[];
}

export function makeRecentTurns(): RecentTurns {
  const turns: RecentTurn[] = [];
  return {
    add({ status, content }) {
      const at = new Date();
      turns.push(
        status === "error"
          ? { at, total_ms: null, first_token_ms: null, degraded: [], code: content.code }
          : {
              at,
              total_ms: content.timings.total_ms,
              first_token_ms: content.timings.first_token_ms,
              degraded: content.degraded,
              code: null,
            },
      );
      if (turns.length > KEPT) turns.shift();
    },
    list: () => turns,
  };
}
