import { PgBoss, type ConstructorOptions, type Db } from "pg-boss";
import type { Database, Queryable } from "../postgres/database.ts";

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

export interface BossParts {
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
