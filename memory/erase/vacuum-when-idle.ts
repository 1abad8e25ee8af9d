import { setTimeout as sleep } from "node:timers/promises";
import type { VacuumJob } from "../../stores/jobs/job.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { dropOldLog, isBusy, lastErase, listTables, rewriteTable, type TableSize } from "../../stores/postgres/erase/vacuum-database.ts";
import type { JobHandler } from "../jobs/job-handler.ts";

export interface VacuumWhenIdleParts {
  /** Embedded: rewriting a table holds this process up. */
  database: Database;
  /** For how long, in milliseconds, nobody has asked the service for anything. */
  quietMs: () => number;
}

/** Before a table is rewritten nobody has asked for anything for so long, in milliseconds. */
const QUIET_MS = 1_000;
/** A second more for so many bytes, about as long as it takes, and no more than LONGEST_QUIET_MS. */
const BYTES_A_SECOND = 20_000_000;
const LONGEST_QUIET_MS = 10_000;
const LOOK_EVERY_MS = 250;
/** A step that has found no quiet for so long, in milliseconds, ends, and the job begins anew. */
const STEP_MS = 60_000;

/**
 * Writes the files of an embedded database anew, so that what was erased is in none of them: one table after the other, each when nobody needs
 * the service.
 */
export function makeVacuumWhenIdle({ database, quietMs }: VacuumWhenIdleParts): JobHandler<VacuumJob> {
  /** The last erase that the step has seen to; undefined when it has not come to its end. */
  let seenTo: string | null | undefined;

  async function waitUntilIdle({ bytes }: Pick<TableSize, "bytes">, until: number, signal: AbortSignal): Promise<boolean> {
    const neededMs = Math.min(LONGEST_QUIET_MS, QUIET_MS + (bytes / BYTES_A_SECOND) * 1_000);
    while (performance.now() < until) {
      if (quietMs() >= neededMs && !(await isBusy(database))) return true;
      await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
    return false;
  }

  return {
    async step(_job, signal) {
      seenTo = undefined;
      const until = performance.now() + STEP_MS;
      if (!(await waitUntilIdle({ bytes: 0 }, until, signal))) return;
      const last = await lastErase(database);
      for (const table of await listTables(database)) {
        if (!(await waitUntilIdle(table, until, signal))) return;
        await rewriteTable(database, table);
      }
      await dropOldLog(database);
      seenTo = last;
    },
    async remaining(transaction) {
      return seenTo !== undefined && seenTo === (await lastErase(transaction)) ? "nothing" : "more";
    },
  };
}
