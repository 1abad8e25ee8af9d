import { type ConstructorOptions, type Db, PgBoss, type QueuePolicy } from "pg-boss";
import type { Database, Queryable } from "../postgres/database/database.ts";

/** The queue of all jobs, and where those end that failed for good. */
export const QUEUE = "memory";
export const DEAD_LETTERS = "memory_dead";

/**
 * What pg-boss asks of a database, over a connection or transaction of ours. With a `name` the server keeps the plan of the statement,
 * which takes an insert in PGlite from 3.6 to 1.3 ms; the name must then always go with the same text.
 */
export function toBossDatabase(queryable: Queryable, name?: string): Db {
  return {
    async executeSql(text, values = []) {
      const rows = await queryable.query({
        text,
        ...(name === undefined ? {} : { name }),
        // pg-boss gives strings, numbers, dates, string arrays, and objects for jsonb.
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
  /** Hears of failures in pg-boss' background work: unheard, the first would end the process. */
  onError: (error: unknown) => void;
  /** Called when jobs may be waiting, as soon as they are committed, in whichever process; needs the option `useListenNotify`. */
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
      // pg-boss knows its channel and listens for its own workers, of which there are none: see decision 7.
      async listen(channel) {
        const wake = (): void => onJobs?.();
        return { close: await database.listen(channel, { onNotification: wake, onConnect: wake }) };
      },
    },
  });
  return boss.on("error", onError);
}

/** What pg-boss' calls on jobs answer; its types leave it out. https://pgboss.io/api/jobs */
export interface Affected {
  affected: number;
  /** The ids of the jobs that were affected. */
  settled?: string[];
}

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
