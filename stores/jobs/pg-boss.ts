import { type ConstructorOptions, type Db, PgBoss, type QueuePolicy } from "pg-boss";
import type { Database, Queryable } from "../postgres/database/database.ts";

/** The queue of all jobs, and its dead letters. */
export const QUEUE = "memory";
export const DEAD_LETTERS = "memory_dead";

/** pg-boss' view of our connection or transaction. With a `name` the server keeps the plan; a name always goes with the same text. */
export function toBossDatabase(queryable: Queryable, name?: string): Db {
  return {
    async executeSql(text, values = []) {
      const rows = await queryable.query({
        text,
        ...(name === undefined ? {} : { name }),
        // pg-boss passes strings, numbers, dates, string arrays, and objects for jsonb.
        ...(values.length === 0 ? {} : { values: values.map(toStatementValue) }),
      });
      return { rows: rows ?? [] };
    },
  };
}

function toStatementValue(value: unknown): string | number | boolean | Date | null | readonly string[] {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(String);
  return JSON.stringify(value);
}

interface BossParts {
  database: Database;
  /** Hears of failures in pg-boss' background work; unhandled, the first would end the process. */
  onError: (error: unknown) => void;
  /** Called as soon as jobs are committed, in any process; needs `useListenNotify`. */
  onJobs?: () => void;
}

/** pg-boss over our database. */
export function makeBoss({ database, onError, onJobs }: BossParts, options: Partial<ConstructorOptions> = {}): PgBoss {
  const boss = new PgBoss({
    schedule: false,
    supervise: false,
    migrate: false,
    ...options,
    db: {
      ...toBossDatabase(database),
      // pg-boss listens only for its own workers, of which there are none: see decision 7.
      async listen(channel) {
        const wake = (): void => onJobs?.();
        return { close: await database.listen(channel, { onNotification: wake, onConnect: wake }) };
      },
    },
  });
  return boss.on("error", onError);
}

/** What pg-boss' calls on jobs return; its types leave it out. https://pgboss.io/api/jobs */
export interface Affected {
  affected: number;
  /** Ids of the affected jobs. */
  settled?: string[];
}

const DAY_SECONDS = 24 * 60 * 60;

const SETTINGS = {
  /** A NOTIFY for each added job: a worker of any process starts it within milliseconds. */
  notify: true,
  /** Without a heartbeat for so long, its process is dead. 10 is the least pg-boss takes. */
  heartbeatSeconds: 10,
  /** Longer than any job: heartbeats reveal dead processes, the model's deadlines end calls that hang. */
  expireInSeconds: DAY_SECONDS,
  /** 1 to 2 seconds, doubling up to 10; workers poll every 2 seconds, so tries are at most 15 apart. */
  retryBackoff: true,
  retryDelay: 1,
  retryDelayMax: 10,
  /**
   * More than fit in a day: the worker ends a job by age, see memory/jobs/retry-plan.ts. This bound is for jobs that take their process
   * down.
   */
  retryLimit: 6_000,
  /** A failed job's own row; the dead letter stays. */
  deleteAfterSeconds: 60,
  /** pg-boss deletes a job that waits longer: practically never. */
  retentionSeconds: 3_650 * DAY_SECONDS,
};

/** One waiting or running job for each key. */
const POLICY: QueuePolicy = "exclusive";

/**
 * Installs or updates pg-boss' tables and both queues in the schema `pgboss`. Safe when several processes start together: pg-boss takes
 * advisory locks, and repeating the calls changes nothing.
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
