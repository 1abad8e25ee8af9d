import { setImmediate as letOthersRun, setTimeout as sleep } from "node:timers/promises";
import type { EraseEpisodesJob, EraseJob, IngestJob, VacuumJob } from "../../stores/jobs/job.ts";
import type { EntriesToSweep } from "../../stores/postgres/erase/erase-markers.ts";
import type { ErasureStore } from "../../stores/postgres/erase/erasure-store.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { JobQueue } from "../../stores/jobs/job-queue.ts";
import { type EpisodeIndex, findIndexRecord } from "../../stores/search/open-episode-index.ts";
import { clearIndex } from "./erase.ts";
import { AppError } from "../../errors/app-error.ts";
import type { ChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { dropOldLog, isBusy, lastErase, listTables, rewriteTable, type TableSize } from "../../stores/postgres/erase/vacuum-database.ts";

const indexSwitchedOff = (): AppError =>
  new AppError("index_unavailable", "The search index is switched off in this process. The job waits for a process that has it.");

/**
 * Clears no index, in a process that has none: as long as one serves, which may still hold what was erased, the job waits for a process
 * that opens it. One in the making is cleared by whoever makes it.
 */
export async function assertNoIndex(database: Database): Promise<void> {
  if (await findIndexRecord(database, "current")) throw indexSwitchedOff();
}

export function makeEraseWithoutIndex(database: Database): JobHandler<EraseEpisodesJob> {
  return {
    step: () => assertNoIndex(database),
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}

/** Reads no document, in a process without an index: the job waits as long as its document does, which no other job would bring in. */
export function makeIngestWithoutIndex(chunks: Pick<ChunkStore, "lockAndCheck">): JobHandler<IngestJob> {
  return {
    step: () => Promise.reject(indexSwitchedOff()),
    async remaining(transaction, job) {
      const more = await chunks.lockAndCheck(transaction, job);
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },
  };
}

/**
 * Takes what was erased out of the index. Run soon after the erase, in case its store was away, and once more when a job that was writing
 * there at that moment is surely over.
 */
export function makeClearIndexJob(index: EpisodeIndex, queue: Pick<JobQueue, "transaction">): JobHandler<EraseEpisodesJob> {
  return {
    async step(job) {
      const removed = await clearIndex(index, job);
      if (removed > 0) await queue.transaction((_transaction, jobs) => jobs.addVacuum());
    },
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}

/** One step goes on for about so long, in milliseconds; then other jobs have their turn. */
const ERASE_STEP_MS = 2_000;

interface EraseJobParts {
  erasures: Pick<ErasureStore, "purgeRows" | "nextGroups" | "purgeGroups" | "finish">;
  /** Takes groups out of the index and returns how many entries there were. Throws AppError `index_unavailable`. */
  clearIndex: (left: EntriesToSweep) => Promise<number>;
}

/** Takes out what a large erase has set aside: the text first, from Postgres, then what the index has of it, then the rows that led there. */
export function makeEraseJob({ erasures, clearIndex }: EraseJobParts): JobHandler<EraseJob> {
  async function takeOutGroups(id: string): Promise<boolean> {
    const groups = await erasures.nextGroups(id);
    if (!groups) return false;
    await erasures.purgeGroups(id, groups, await clearIndex(groups.left));
    return true;
  }
  return {
    async step({ id }, signal) {
      const until = performance.now() + ERASE_STEP_MS;
      while (performance.now() < until && ((await erasures.purgeRows(id)) || (await takeOutGroups(id)))) {
        signal.throwIfAborted();
        await letOthersRun();
      }
    },
    remaining: async (transaction, { id }) => ((await erasures.finish(transaction, id)) ? "nothing" : "more"),
  };
}

interface VacuumJobParts {
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
const VACUUM_STEP_MS = 60_000;

/**
 * Writes the files of an embedded database anew, so that what was erased is in none of them: one table after the other, each when nobody needs
 * the service.
 */
export function makeVacuumJob({ database, quietMs }: VacuumJobParts): JobHandler<VacuumJob> {
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
      const until = performance.now() + VACUUM_STEP_MS;
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
