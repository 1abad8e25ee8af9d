import { setImmediate as letOthersRun } from "node:timers/promises";
import type { EraseJob } from "../../stores/jobs/job.ts";
import type { EntriesToSweep } from "../../stores/postgres/erase/erase-markers.ts";
import type { ErasureStore } from "../../stores/postgres/erase/erasure-store.ts";
import type { JobHandler } from "../jobs/job-handler.ts";

/** One step goes on for about so long, in milliseconds; then other jobs have their turn. */
const STEP_MS = 2_000;

export interface TakeOutErasedParts {
  erasures: Pick<ErasureStore, "purgeRows" | "nextGroups" | "purgeGroups" | "finish">;
  /** Takes groups out of the index and returns how many entries there were. Throws AppError `index_unavailable`. */
  clearIndex: (left: EntriesToSweep) => Promise<number>;
}

/** Takes out what a large erase has set aside: the text first, from Postgres, then what the index has of it, then the rows that led there. */
export function makeTakeOutErased({ erasures, clearIndex }: TakeOutErasedParts): JobHandler<EraseJob> {
  async function takeOutGroups(id: string): Promise<boolean> {
    const groups = await erasures.nextGroups(id);
    if (!groups) return false;
    await erasures.purgeGroups(id, groups, await clearIndex(groups.left));
    return true;
  }
  return {
    async step({ id }, signal) {
      const until = performance.now() + STEP_MS;
      while (performance.now() < until && ((await erasures.purgeRows(id)) || (await takeOutGroups(id)))) {
        signal.throwIfAborted();
        await letOthersRun();
      }
    },
    remaining: async (transaction, { id }) => ((await erasures.finish(transaction, id)) ? "nothing" : "more"),
  };
}
