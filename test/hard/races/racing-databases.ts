import type { Database, Queryable } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Two processes' connections to one real, migrated Postgres that has nobody else. */
export interface RacingDatabases {
  one: Database;
  other: Database;
  /**
   * Runs `early` in a transaction of `one`, starts `late`, and commits once `late` waits for a lock of it; gives what came of both. Fails when
   * `late` does not wait.
   */
  meet<Early, Late>(early: (inside: Database) => Promise<Early>, late: () => Promise<Late>): Promise<[Early, Late]>;
  close(): Promise<void>;
}

/** The database as a transaction of it sees it: what stores do over it holds or falls with that transaction. */
export function insideOf(database: Database, transaction: Queryable): Database {
  return { ...database, query: (statement) => transaction.query(statement), transaction: (work) => work(transaction) };
}

const WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

export async function openRacingDatabases(): Promise<RacingDatabases> {
  const { url, drop } = await createRealDatabase();
  const [one, other] = await Promise.all([openPostgres(url), openPostgres(url)]);
  return {
    one,
    other,
    async meet<Early, Late>(early: (inside: Database) => Promise<Early>, late: () => Promise<Late>): Promise<[Early, Late]> {
      const begun: Promise<Late>[] = [];
      const first = await one.transaction(async (transaction) => {
        const result = await early(insideOf(one, transaction));
        const waiting = late();
        waiting.catch(() => undefined); // heard below
        begun.push(waiting);
        await waitUntil("a statement that waits for a lock", async () => (await one.query({ text: WAITING })).length > 0);
        return result;
      });
      const [waited] = await Promise.all(begun);
      return [first, waited as Late];
    },
    async close() {
      await Promise.all([one.close(), other.close()]);
      await drop();
    },
  };
}
