import { once } from "node:events";
import { runJobs, type JobHandler, type RunJobsParts } from "../../../memory/jobs/run-jobs.ts";
import { JOB_KINDS } from "../../../stores/jobs/job.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";

/** A process that works off the queue of DATABASE_URL, twelve jobs at a time. It prints a line for each step; none ends unless ENDS is set. */
const { DATABASE_URL = "", ENDS } = process.env;
const database = await openPostgres(DATABASE_URL);
const handler: JobHandler = {
  async step(_job, signal) {
    process.stdout.write("step\n");
    if (ENDS !== undefined) return;
    await once(signal, "abort");
    signal.throwIfAborted();
  },
  remaining: async (_transaction, _job, stepFailed) => (stepFailed ? "more" : "nothing"),
};
const handlers = Object.fromEntries(JOB_KINDS.map((kind) => [kind, handler])) as unknown as RunJobsParts["handlers"];
await runJobs({ queue: makeJobQueue(database), handlers, concurrency: 12, pollMs: 100 });
