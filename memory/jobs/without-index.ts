import { AppError } from "../../errors/app-error.ts";
import type { EraseEpisodesJob, IngestJob } from "../../stores/jobs/job.ts";
import type { ChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { findIndexRecord } from "../../stores/search/open-episode-index.ts";
import type { JobHandler } from "./job-handler.ts";

const switchedOff = (): AppError =>
  new AppError("index_unavailable", "The search index is switched off in this process. The job waits for a process that has it.");

/**
 * Clears no index, in a process that has none: as long as one serves, which may still hold what was erased, the job waits for a process
 * that opens it. One in the making is cleared by whoever makes it.
 */
export async function assertNoIndex(database: Database): Promise<void> {
  if (await findIndexRecord(database, "current")) throw switchedOff();
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
    step: () => Promise.reject(switchedOff()),
    async remaining(transaction, job) {
      const more = await chunks.lockAndCheck(transaction, job);
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },
  };
}
