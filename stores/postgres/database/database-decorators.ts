import { setImmediate as letOthersRun } from "node:timers/promises";
import { bulkhead } from "cockatiel";
import type { Observer } from "../../../observe/observer.ts";
import type { Database, Queryable, Statement } from "./database.ts";

/** What tells statements of one kind apart: a batch size, or the digest of an index' columns. */
const VARIANT = /-(\d+|[0-9a-f]{16})$/;

/** The name of a statement without its variant: there are as many as in the code. Those without a name are one, `other`. */
export function statementKind({ name }: Pick<Statement, "name">): string {
  return name?.replace(VARIANT, "") ?? "other";
}

function watchedQueryable(queryable: Queryable, observer: Observer): Queryable {
  return {
    query: (statement) => observer.watch({ work: "statement", name: statementKind(statement) }, () => queryable.query(statement)),
  };
}

/** The same database, each statement watched with its wait for a connection, and each transaction as a whole (`transaction`). */
export function watchedDatabase(database: Database, observer: Observer): Database {
  return {
    description: database.description,
    isEmbedded: database.isEmbedded,
    ...watchedQueryable(database, observer),
    transaction: (work) =>
      observer.watch({ work: "statement", name: "transaction" }, () =>
        database.transaction((transaction) => work(watchedQueryable(transaction, observer))),
      ),
    listen: (channel, listener) => database.listen(channel, listener),
    close: () => database.close(),
  };
}

function patientQueryable(queryable: Queryable, timeoutMs: number): Queryable {
  return { query: (statement) => queryable.query({ ...statement, timeoutMs }) };
}

/** The same database, with so many milliseconds for each statement: for work that takes longer than anything a turn waits for. */
export function withStatementTimeout(database: Database, timeoutMs: number): Database {
  return {
    ...database,
    ...patientQueryable(database, timeoutMs),
    transaction: (work) => database.transaction((transaction) => work(patientQueryable(transaction, timeoutMs))),
  };
}

/** Work that is late lets the event loop go round when it has held it for so many milliseconds. */
const SLICE_MS = 5;

/**
 * The same database for the background work of a process whose database is embedded: one statement or transaction at a time, and before each the
 * event loop goes round. The embedded database answers without letting go of it: jobs at work side by side, whose steps follow each other in
 * microtasks, would let no request in and no token out until all have come to wait for a model. Where users ask without a pause, p95 of the
 * first token was 67 ms, and is 23 (docs/decisions/0007). While `isLate`, background work stands in line for the connection as everybody does:
 * beside ten streams it would never get done. The wait for the others is not in the times of statements.
 */
export function backgroundDatabase(database: Database, isLate: () => boolean): Database {
  const inTurn = bulkhead(1, Infinity);
  let lastRound = 0;
  async function goRound(): Promise<void> {
    await letOthersRun();
    lastRound = performance.now();
  }
  async function next<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!isLate()) return inTurn.execute(() => goRound().then(work));
    if (performance.now() - lastRound >= SLICE_MS) await goRound();
    return work();
  }
  return {
    ...database,
    query: (statement) => next(() => database.query(statement)),
    transaction: (work) => next(() => database.transaction(work)),
  };
}
