import type { Observer } from "../../observe/observer.ts";
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
