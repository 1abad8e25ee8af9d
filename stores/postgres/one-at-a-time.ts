import { setImmediate as letOthersRun } from "node:timers/promises";
import { bulkhead } from "cockatiel";
import type { Database } from "./database.ts";

/**
 * The same database for the background work of a process whose database is embedded: one statement or transaction at a time, and before each the
 * event loop goes round. The embedded database answers without letting go of it: jobs at work side by side, whose steps follow each other in
 * microtasks, would let no request in and no token out until all have come to wait for a model. Where users ask without a pause, p95 of the
 * first token was 67 ms, and is 23 (docs/decisions/0007). The wait for the others is not in the times of statements.
 */
export function oneAtATime(database: Database): Database {
  const inTurn = bulkhead(1, Infinity);
  const next = <Result>(work: () => Promise<Result>): Promise<Result> =>
    inTurn.execute(async () => {
      await letOthersRun();
      return work();
    });
  return {
    ...database,
    query: (statement) => next(() => database.query(statement)),
    transaction: (work) => next(() => database.transaction(work)),
  };
}
