import type { Database, Queryable, Statement } from "../../../stores/postgres/database/database.ts";

/** The database itself, with a list of every statement that passes through it, in transactions too. */
export function recordStatements(database: Database): { database: Database; statements: Statement[] } {
  const statements: Statement[] = [];
  const recording = (where: Queryable): Queryable => ({
    query(statement) {
      statements.push(statement);
      return where.query(statement);
    },
  });
  return {
    statements,
    database: {
      ...database,
      ...recording(database),
      transaction: (work) => database.transaction((transaction) => work(recording(transaction))),
    },
  };
}
