import type { Database, Queryable } from "./database.ts";

function patientQueryable(queryable: Queryable, timeoutMs: number): Queryable {
  return { query: (statement) => queryable.query({ ...statement, timeoutMs }) };
}

/** The same database, with so many milliseconds for each statement: for work that takes longer than anything a turn waits for. */
export function patientDatabase(database: Database, timeoutMs: number): Database {
  return {
    ...database,
    ...patientQueryable(database, timeoutMs),
    transaction: (work) => database.transaction((transaction) => work(patientQueryable(transaction, timeoutMs))),
  };
}
