import type { EraseEpisodesJob } from "../../stores/jobs/job.ts";
import type { EpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { JobHandler } from "../jobs/job-handler.ts";

/**
 * Takes an erased conversation's episodes out of the index. Run a while after the erase, when a job that was writing them at that moment is
 * surely over; the request itself removes them at once when it can.
 */
export function makeEraseEpisodes(index: EpisodeIndex): JobHandler<EraseEpisodesJob> {
  return {
    async step({ ownerKey, groupId }) {
      const opened = await index.open(await index.name());
      await opened.removeGroup(ownerKey, groupId);
    },
    remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
  };
}
