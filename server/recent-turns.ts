import type { LastEvent } from "../graph/start-turn.ts";
import type { Owner } from "../stores/owner.ts";
import { actsFor, type Caller } from "./caller.ts";

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

/** The last turns of this process: for people who look, without a database of metrics. */
export interface RecentTurns {
  add(owner: Owner, last: LastEvent): void;
  /** Those that a caller may know of, oldest first. */
  list(caller: Caller): readonly RecentTurn[];
}

function isShown({ tenantId, userId }: Owner, caller: Caller): boolean {
  return caller.everyTenant || (tenantId === caller.tenantId && actsFor(caller, userId));
}

export function makeRecentTurns(): RecentTurns {
  const turns: { owner: Owner; turn: RecentTurn }[] = [];
  return {
    add({ tenantId, userId }, { status, content }) {
      const at = new Date();
      const turn =
        status === "error"
          ? { at, total_ms: null, first_token_ms: null, degraded: [], code: content.code }
          : {
              at,
              total_ms: content.timings.total_ms,
              first_token_ms: content.timings.first_token_ms,
              degraded: content.degraded,
              code: null,
            };
      turns.push({ owner: { tenantId, userId }, turn });
      if (turns.length > KEPT) turns.shift();
    },
    list: (caller) => turns.filter(({ owner }) => isShown(owner, caller)).map(({ turn }) => turn),
  };
}
