import { z } from "zod";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { Owner } from "../../turn/owner.ts";
import { Layer } from "../../turn/state.ts";
import { canActFor, type Caller } from "../auth/caller.ts";
import { type Sent, time } from "../http/operation.ts";

const MAX_TURNS = 200;

export const RecentTurn = z.object({
  at: time,
  total_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  degraded: z.array(Layer),
  code: z.string().nullable().describe("Why it failed."),
});
/** In milliseconds. */
export type RecentTurn = Sent<z.output<typeof RecentTurn>>;

function isShown({ tenantId, userId }: Owner, caller: Caller): boolean {
  return caller.everyTenant || (tenantId === caller.tenantId && canActFor(caller, userId));
}

/** For people without a metrics database. */
export function makeRecentTurns() {
  const turns: { owner: Owner; turn: RecentTurn }[] = [];
  return {
    add({ tenantId, userId }: Owner, { status, content }: Exclude<LastEvent, { status: "waiting" }>): void {
      const measured =
        status === "error"
          ? { total_ms: null, first_token_ms: null, degraded: [], code: content.code }
          : { total_ms: content.timings.total_ms, first_token_ms: content.timings.first_token_ms, degraded: content.degraded, code: null };
      const turn = { at: new Date(), ...measured };
      turns.push({ owner: { tenantId, userId }, turn });
      if (turns.length > MAX_TURNS) turns.shift();
    },
    list: (caller: Caller): readonly RecentTurn[] => turns.filter(({ owner }) => isShown(owner, caller)).map(({ turn }) => turn),
  };
}
