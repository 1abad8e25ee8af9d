import { type ConstructorOptions, type Db, PgBoss, type QueuePolicy } from "pg-boss";
import type { Database, Queryable } from "./database.ts";

export const QUEUE = "memory";
export const DEAD_LETTERS = "memory_dead";

/** pg-boss over a connection or transaction. `name` makes the server keep the plan. */
export function toBossDatabase(queryable: Queryable, name?: string): Db {
  return {
    async executeSql(text, values = []) {
      const rows = await queryable.query({
        text,
        ...(name === undefined ? {} : { name }),
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
  onError: (error: unknown) => void;
  /** Called when any process commits jobs; needs `useListenNotify`. */
  onJobs?: () => void;
}

export function makeBoss({ database, onError, onJobs }: BossParts, options: Partial<ConstructorOptions> = {}): PgBoss {
  const boss = new PgBoss({
    schedule: false,
    supervise: false,
    migrate: false,
    ...options,
    db: {
      ...toBossDatabase(database),
      // pg-boss listens only for its own workers: see decision 7.
      async listen(channel) {
        const wake = (): void => onJobs?.();
        return { close: await database.listen(channel, { onNotification: wake, onConnect: wake }) };
      },
    },
  });
  return boss.on("error", onError);
}

/** Returned by calls on jobs; missing in pg-boss' types. https://pgboss.io/api/jobs */
export interface Affected {
  affected: number;
  settled?: string[];
}

const DAY_SECONDS = 24 * 60 * 60;

const SETTINGS = {
  /** Wakes workers within milliseconds. */
  notify: true,
  /** pg-boss' minimum */
  heartbeatSeconds: 10,
  /** Longer than any job: heartbeats find dead processes. */
  expireInSeconds: DAY_SECONDS,
  /** 1 to 2 seconds, doubling up to 10. */
  retryBackoff: true,
  retryDelay: 1,
  retryDelayMax: 10,
  /** More than fit in a day: run-jobs.ts ends a job by age. This bounds jobs that crash their process. */
  retryLimit: 6_000,
  deleteAfterSeconds: 60,
  /** pg-boss deletes a job that waits longer. */
  retentionSeconds: 3_650 * DAY_SECONDS,
};

const POLICY: QueuePolicy = "exclusive";

/** Installs or updates pg-boss' tables and both queues. Safe in several processes at once: pg-boss takes advisory locks. */
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
