import { setImmediate as nextRound } from "node:timers/promises";
import { bulkhead } from "cockatiel";
import type { Observer } from "../../../observe/observer.ts";
import type { Database, Queryable, Statement } from "./database.ts";

/** A batch size, or the digest of an index. */
const VARIANT = /-(\d+|[0-9a-f]{16})$/;

/** The name of a statement without its variant, or `other`. */
function statementKind({ name }: Pick<Statement, "name">): string {
  return name?.replace(VARIANT, "") ?? "other";
}

/** Wraps every statement of a database, in transactions too. */
function wrapStatements(database: Database, wrap: (queryable: Queryable) => Queryable): Database {
  return {
    ...database,
    ...wrap(database),
    transaction: (work) => database.transaction((transaction) => work(wrap(transaction))),
  };
}

/** The same database, observed: each statement with its wait for a connection, each transaction as a whole (`transaction`). */
export function watchedDatabase(database: Database, observer: Observer): Database {
  const watched = wrapStatements(database, (queryable) => ({
    query: (statement) => observer.watch({ work: "statement", name: statementKind(statement) }, () => queryable.query(statement)),
  }));
  return {
    ...watched,
    transaction: (work) => observer.watch({ work: "statement", name: "transaction" }, () => watched.transaction(work)),
  };
}

/** For work that no turn waits for, in milliseconds. */
export const LONG_STATEMENT_MS = 600_000;

export function withStatementTimeout(database: Database, timeoutMs = LONG_STATEMENT_MS): Database {
  return wrapStatements(database, (queryable) => ({ query: (statement) => queryable.query({ ...statement, timeoutMs }) }));
}

const SLICE_MS = 5;

/**
 * The embedded database for background work. It runs one statement or transaction at a time, and lets the event loop run before each
 * because statements block it (docs/decisions/0007). While `isLate`, it does not wait.
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
