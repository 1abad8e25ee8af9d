import { afterAll, beforeAll } from "@jest/globals";
import type { Queryable } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { storesOf, type Stores } from "../../support/databases/describe-stores.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Stores of two processes on a real Postgres of their own, there as long as the suite that calls `useRacingDatabases`. */
export interface RacingDatabases {
  one: Stores;
  other: Stores;
  /** Runs `early` in a transaction of `one`, starts `late`, and commits once `late` waits for a lock. Fails when `late` does not wait. */
  meet<Early, Late>(early: (inside: Stores) => Promise<Early>, late: () => Promise<Late>): Promise<[Early, Late]>;
}

const WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

export const insideOf = ({ database }: Stores, transaction: Queryable): Stores =>
  storesOf({ ...database, query: (statement) => transaction.query(statement), transaction: (work) => work(transaction) });

export function useRacingDatabases(): RacingDatabases {
  const racing = {
    async meet(early, late) {
      const { one } = racing;
      let waiting: ReturnType<typeof late> | undefined;
      const first = await one.database.transaction(async (transaction) => {
        const result = await early(insideOf(one, transaction));
        waiting = late();
        waiting.catch(() => undefined); // awaited below
        await waitUntil("a statement that waits for a lock", async () => (await one.database.query({ text: WAITING })).length > 0);
        return result;
      });
      return [first, await (waiting as ReturnType<typeof late>)];
    },
  } as RacingDatabases;
  beforeAll(async () => {
    const one = await openTestPostgres();
    Object.assign(racing, { one: storesOf(one), other: storesOf(await openPostgres(one.url)) });
  });
  afterAll(() => racing.other.database.close().then(() => racing.one.database.close()));
  return racing;
}
