import { expect, test } from "@jest/globals";
import { runMemoryJobs } from "../../../memory/jobs/run-memory-jobs.ts";
import type { JobRun } from "../../../memory/jobs/run-jobs.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

const JOBS = 8;

describeOnBothDatabases("the jobs of memory", (open) => {
  const jobs = useJobs(open);

  /** The most things that jobs ask the database for at a time, when they were added so long ago. */
  async function mostAtOnce(addedAgo: string): Promise<number> {
    const { database, queue } = jobs;
    let [asking, most] = [0, 0];
    const counted = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
      most = Math.max(most, ++asking);
      return ask().finally(() => asking--);
    };
    const watched: Database = {
      ...database,
      query: (statement) => counted(() => database.query(statement)),
      transaction: (work) => counted(() => database.transaction(work)),
    };
    await addJobs(queue, ...Array.from({ length: JOBS }, () => sampleJob()));
    await database.query({ text: `update pgboss.job set created_on = now() - interval '${addedAgo}'` });
    const runs: JobRun[] = [];
    const running = await runMemoryJobs({ database: watched, summaryModel: null, concurrency: JOBS, onRun: (run) => void runs.push(run) });
    await waitUntil("all jobs have run", () => runs.length === JOBS);
    await running.stop(1_000);
    return most;
  }

  test("ask an embedded database for one thing at a time unless they are late, and another for several", async () => {
    const most = await mostAtOnce("-1 hour");
    if (jobs.database.isEmbedded) expect(most).toBe(1);
    else expect(most).toBeGreaterThan(1);
    expect(await mostAtOnce("2 seconds")).toBeGreaterThan(1);
  });
});
