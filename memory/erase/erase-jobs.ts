import { setImmediate as letOthersRun, setTimeout as sleep } from "node:timers/promises";
import type { EraseEpisodesJob, EraseJob, VacuumJob } from "../../stores/jobs/job.ts";
import type { EntriesToSweep } from "../../stores/postgres/conversations/erase-markers.ts";
import type { ErasureStore } from "../../stores/postgres/erase/erasure-store.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { JobQueue } from "../../stores/jobs/job-queue.ts";
import { type EpisodeIndex, findIndexRecord } from "../../stores/search/open-episode-index.ts";
import { sweepIndex } from "./erase.ts";
import { AppError } from "../../errors/app-error.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { dropOldLog, isBusy, lastErase, listTables, rewriteTable, type TableSize } from "../../stores/postgres/erase/vacuum-database.ts";

/** Returns the number of removed episodes. Throws AppError `index_unavailable`. */
export type SweepIndex = (entries: EntriesToSweep) => Promise<number>;

/** A process without an index cannot sweep. A builder sweeps its own index. */
export function makeSweepIndex(index: EpisodeIndex | null, database: Database): SweepIndex {
  return async (entries) => {
    if (index) return sweepIndex(index, entries);
    if (await findIndexRecord(database, "current")) throw indexSwitchedOff();
    return 0;
  };
}

export const indexSwitchedOff = (): AppError =>
  new AppError("index_unavailable", "The search index is switched off in this process. The job waits for a process that has it.");

/** Sweeps the index soon after an erase, and again once no job can still be writing what it had read before. */
export function makeSweepIndexJob(sweepIndex: SweepIndex, queue: Pick<JobQueue, "transaction">): JobHandler<EraseEpisodesJob> {
  return {
    async step(job) {
      const removed = await sweepIndex(job);
      if (removed > 0) await queue.transaction((_transaction, jobs) => jobs.addVacuum());
    },
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}

/** In milliseconds; then other jobs have their turn. */
const ERASE_STEP_MS = 2_000;

/** Purges what a large erase has set aside: texts in Postgres, their index entries, then the rows that led there. */
export function makeEraseJob({ erasures, sweepIndex }: { erasures: ErasureStore; sweepIndex: SweepIndex }): JobHandler<EraseJob> {
  async function purgeGroups(id: string): Promise<boolean> {
    const groups = await erasures.nextGroups(id);
    if (!groups) return false;
    await erasures.purgeGroups(id, groups, await sweepIndex(groups.entries));
    return true;
  }
  return {
    async step({ id }, signal) {
      const until = performance.now() + ERASE_STEP_MS;
      while (performance.now() < until && ((await erasures.purgeRows(id)) || (await purgeGroups(id)))) {
        signal.throwIfAborted();
        await letOthersRun();
      }
    },
    remaining: async (transaction, { id }) => ((await erasures.finish(transaction, id)) ? "nothing" : "more"),
  };
}

/** Quiet milliseconds before a table is rewritten: a second, and about as long as the rewrite takes. */
const MIN_QUIET_MS = 1_000;
const MAX_QUIET_MS = 10_000;
const BYTES_A_SECOND = 20_000_000;
const CHECK_EVERY_MS = 250;
const VACUUM_STEP_MS = 60_000;

/** Rewrites the files of an embedded database, so that none holds erased data. `quietMs`: milliseconds since the last request. */
export function makeVacuumJob(database: Database, quietMs: () => number): JobHandler<VacuumJob> {
  /** The newest erase that a whole step has covered. */
  let coveredErase: string | null | undefined;

  async function waitUntilIdle({ bytes }: Pick<TableSize, "bytes">, until: number, signal: AbortSignal): Promise<boolean> {
    const neededMs = Math.min(MAX_QUIET_MS, MIN_QUIET_MS + (bytes / BYTES_A_SECOND) * 1_000);
    while (performance.now() < until) {
      if (quietMs() >= neededMs && !(await isBusy(database))) return true;
      await sleep(CHECK_EVERY_MS, undefined, { signal });
    }
    return false;
  }

  return {
    async step(_job, signal) {
      coveredErase = undefined;
      const until = performance.now() + VACUUM_STEP_MS;
      if (!(await waitUntilIdle({ bytes: 0 }, until, signal))) return;
      const last = await lastErase(database);
      for (const table of await listTables(database)) {
        if (!(await waitUntilIdle(table, until, signal))) return;
        await rewriteTable(database, table);
      }
      await dropOldLog(database);
      coveredErase = last;
    },
    async remaining(transaction) {
      return coveredErase !== undefined && coveredErase === (await lastErase(transaction)) ? "nothing" : "more";
    },
  };
}
