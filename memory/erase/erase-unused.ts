import { NIL } from "uuid";
import type { Observer } from "../../observe/observer.ts";
import type { EraseUnusedJob } from "../../stores/jobs/job.ts";
import { removeKeptDecisions } from "../../stores/postgres/agents/decision-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { listUnused } from "../../stores/postgres/erase/erase-conversations.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Erase } from "./erase.ts";

const AN_HOUR = 3_600;
const AT_ONCE = 50;
/** In milliseconds; then other jobs have their turn. */
const STEP_MS = 2_000;

export const erasesByTime = ({
  retentionDays,
  keepDecisionsDays,
}: Pick<EraseUnusedParts, "retentionDays" | "keepDecisionsDays">): boolean => retentionDays !== null || keepDecisionsDays > 0;

interface EraseUnusedParts {
  database: Database;
  erase: Pick<Erase, "conversation">;
  /** Null: no conversation is erased. */
  retentionDays: number | null;
  /** 0: none is kept after an erase. */
  keepDecisionsDays: number;
  observer: Observer;
}

/**
 * Every hour erases conversations without activity for `retentionDays`, and kept decisions older than `keepDecisionsDays`. With neither it
 * ends.
 */
export function makeEraseUnused({
  database,
  erase,
  retentionDays,
  keepDecisionsDays,
  observer,
}: EraseUnusedParts): JobHandler<EraseUnusedJob> {
  let isAll = false;
  return {
    async step(_job, signal) {
      isAll = false;
      await removeKeptDecisions(database, keepDecisionsDays);
      isAll = retentionDays === null;
      if (retentionDays === null) return;
      const until = performance.now() + STEP_MS;
      const erased = { conversations: 0, messages: 0 };
      try {
        for (let after: string = NIL; performance.now() < until;) {
          const unused = await listUnused(database, after, retentionDays, AT_ONCE);
          for (const conversation of unused) {
            signal.throwIfAborted();
            const receipt = await erase.conversation(conversation, retentionDays);
            if (!receipt) continue;
            erased.conversations++;
            erased.messages += receipt.messages + (receipt.left?.messages ?? 0);
          }
          const last = unused.at(-1);
          isAll = last === undefined || unused.length < AT_ONCE;
          if (last === undefined || isAll) return;
          after = last.conversationId;
        }
      } finally {
        if (erased.conversations > 0) observer.tell({ happened: "unused_erased", ...erased });
      }
    },
    async remaining(_transaction, _job, stepFailed) {
      if (!erasesByTime({ retentionDays, keepDecisionsDays })) return "nothing";
      return stepFailed || !isAll ? "more" : "later";
    },
    pauseSeconds: AN_HOUR,
  };
}
