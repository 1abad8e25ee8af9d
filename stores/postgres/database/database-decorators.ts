import { setImmediate as nextRound } from "node:timers/promises";
import { bulkhead } from "cockatiel";
import type { Observer } from "../../../observe/observer.ts";
import type { Database, Queryable, Statement } from "./database.ts";

/** A batch size, or the digest of an index. */
const VARIANT = /-(\d+|[0-9a-f]{16})$/;

/** The name of a statement without its variant; `other` without a name. */
function statementKind({ name }: Pick<Statement, "name">): string {
  return name?.replace(VARIANT, "") ?? "other";
}

function watchedQueryable(queryable: Queryable, observer: Observer): Queryable {
  return {
    query: (statement) => observer.watch({ work: "statement", name: statementKind(statement) }, () => queryable.query(statement)),
  };
}

/** The same database, observed: each statement with its wait for a connection, each transaction as a whole (`transaction`). */
export function watchedDatabase(database: Database, observer: Observer): Database {
  return {
    ...database,
    ...watchedQueryable(database, observer),
    transaction: (work) =>
      observer.watch({ work: "statement", name: "transaction" }, () =>
        database.transaction((transaction) => work(watchedQueryable(transaction, observer))),
      ),
  };
}

/** For work that no turn waits for, in milliseconds. */
export const LONG_STATEMENT_MS = 600_000;

function queryableWithTimeout(queryable: Queryable, timeoutMs: number): Queryable {
  return { query: (statement) => queryable.query({ ...statement, timeoutMs }) };
}

export function withStatementTimeout(database: Database, timeoutMs = LONG_STATEMENT_MS): Database {
  return {
    ...database,
    ...queryableWithTimeout(database, timeoutMs),
    transaction: (work) => database.transaction((transaction) => work(queryableWithTimeout(transaction, timeoutMs))),
  };
}

const SLICE_MS = 5;

/**
 * The embedded database for background work: one statement or transaction at a time, after a round of the event loop, which statements
 * block (docs/decisions/0007). While `isLate`, background work does not wait.
 */
export function backgroundDatabase(database: Database, isLate: () => boolean): Database {
  const mutex = bulkhead(1, Infinity);
  let lastYield = 0;
  async function yieldLoop(): Promise<void> {
    await nextRound();
    lastYield = performance.now();
  }
  async function next<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!isLate()) return mutex.execute(() => yieldLoop().then(work));
    if (performance.now() - lastYield >= SLICE_MS) await yieldLoop();
    return work();
  }
  return {
    ...database,
    query: (statement) => next(() => database.query(statement)),
    transaction: (work) => next(() => database.transaction(work)),
  };
}
