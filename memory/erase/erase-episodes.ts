import type { EraseEpisodesJob } from "../../stores/jobs/job.ts";
import type { JobQueue } from "../../stores/jobs/job-queue.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { JobHandler } from "../jobs/job-handler.ts";
import { clearIndex } from "./make-erase.ts";

/**
 * Takes what was erased out of the index. Run soon after the erase, in case its store was away, and once more when a job that was writing
 * there at that moment is surely over.
 */
export function makeEraseEpisodes(index: EpisodeIndex, queue: Pick<JobQueue, "transaction">): JobHandler<EraseEpisodesJob> {
  return {
    async step(job) {
      const removed = await clearIndex(index, job);
      if (removed > 0) await queue.transaction((_transaction, jobs) => jobs.addVacuum());
    },
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}
