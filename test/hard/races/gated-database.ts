import type { Database, Queryable } from "../../../stores/postgres/database/database.ts";
import type { Gate } from "./gate.ts";

const ROLLBACK = new Error("rolled back by the test");

/** The database as one process sees it: each statement and each transaction, as one, waits at its gate. */
export function makeGatedDatabase(database: Database, gate: Gate): Database {
  return {
    ...database,
    query: <Row>(statement: Parameters<Queryable["query"]>[0]) =>
      gate.pass({ name: statement.name ?? statement.text, whole: () => database.query<Row>(statement) }),
    transaction: (work) =>
      gate.pass({
        name: "transaction",
        whole: () => database.transaction(work),
        undone: () =>
          database.transaction(async (transaction) => {
            await work(transaction);
            throw ROLLBACK;
          }),
      }),
  };
}
