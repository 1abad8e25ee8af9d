import type { Database, Queryable, Statement } from "../../../stores/postgres/database/database.ts";

/** Answers a statement instead of `where`, the database or a transaction of it; `run` gives its own answer. */
export type Interceptor = (statement: Statement, run: () => Promise<unknown[]>, where: Queryable) => Promise<unknown[]>;

/** The database itself, but every statement passes through `intercept`, in transactions too. */
export function interceptStatements(database: Database, intercept: Interceptor): Database {
  const over = (where: Queryable): Queryable => ({
    query: <Row>(statement: Statement) => intercept(statement, () => where.query(statement), where) as Promise<Row[]>,
  });
  return { ...database, ...over(database), transaction: (work) => database.transaction((transaction) => work(over(transaction))) };
}

export function recordStatements(database: Database): { database: Database; statements: Statement[] } {
  const statements: Statement[] = [];
  const recording = interceptStatements(database, (statement, run) => {
    statements.push(statement);
    return run();
  });
  return { statements, database: recording };
}
