import type { EraseEpisodesJob } from "../../stores/jobs/job.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { JobHandler } from "../jobs/job-handler.ts";
import { clearIndex } from "./make-erase.ts";

/**
 * Takes what was erased out of the index. Run soon after the erase, in case its store was away, and once more when a job that was writing
 * there at that moment is surely over.
 */
export function makeEraseEpisodes(index: EpisodeIndex): JobHandler<EraseEpisodesJob> {
  return {
    async step(job) {
      await clearIndex(index, job);
    },
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}
