import type { QueuePolicy } from "pg-boss";
import type { Database } from "../postgres/database.ts";
import { DEAD_LETTERS, makeBoss, QUEUE } from "./make-boss.ts";

const DAY_SECONDS = 24 * 60 * 60;

const SETTINGS = {
  /** A row that is NOTIFYed when added: a worker starts it within milliseconds, in whichever process. */
  notify: true,
  /** A job that was not touched for this long belongs to a process that died. 10 is the least that pg-boss takes. */
  heartbeatSeconds: 10,
  /** Longer than any job: the heartbeat tells of a dead process, the model's deadlines end a call that hangs. */
  expireInSeconds: DAY_SECONDS,
  /** 1 to 2 seconds, then twice as long each time, to 10; a worker looks every 2 seconds besides, so never more than 15 apart. */
  retryBackoff: true,
  retryDelay: 1,
  retryDelayMax: 10,
  /** More than fit in a day: the worker ends it by age, see memory/jobs/retry-plan.ts. This is for jobs that take their process down. */
  retryLimit: 6_000,
  /** What a job that failed for good leaves in the queue itself; it is in the dead letters. */
  deleteAfterSeconds: 60,
  /** How long a job may wait for a worker; pg-boss deletes it then, so as good as for ever. */
  retentionSeconds: 3_650 * DAY_SECONDS,
};

/** One waiting or running job for each key. */
const POLICY: QueuePolicy = "exclusive";

/**
 * Installs or updates pg-boss' tables with our two queues, in the schema `pgboss` that a migration has made. Safe when several processes start together: pg-boss takes advisory
 * locks, and both queue calls change nothing the second time.
 */
export async function installJobQueue(database: Database): Promise<void> {
  let failure: unknown;
  const boss = makeBoss({ database, onError: (error) => (failure ??= error) }, { migrate: true, createSchema: false });
  await boss.start();
  try {
    await boss.createQueue(DEAD_LETTERS, { retentionSeconds: 365 * DAY_SECONDS, deleteAfterSeconds: DAY_SECONDS });
    await boss.createQueue(QUEUE, { ...SETTINGS, policy: POLICY, deadLetter: DEAD_LETTERS });
    await boss.updateQueue(QUEUE, SETTINGS);
  } finally {
    await boss.stop({ graceful: false });
  }
  if (failure) throw failure;
}
