/**
 * A parameter. Anything else becomes text first: a value that the driver cannot serialise breaks the connection. A Buffer is sent in the
 * binary form of its type.
 */
export type StatementValue = string | number | boolean | Date | null | Buffer | readonly string[];

/** `name` makes the server keep the plan: one name, one text. `timeoutMs` overrides the database's deadline. */
export interface Statement {
  name?: string;
  text: string;
  values?: readonly StatementValue[];
  timeoutMs?: number;
}

/** A database, or a transaction of one. */
export interface Queryable {
  /** Throws AppError `storage_unavailable` when Postgres cannot be reached; other errors pass unchanged. */
  query<Row>(statement: Statement): Promise<Row[]>;
}

/** The row of a statement that always has one. */
export async function queryRow<Row>(queryable: Queryable, statement: Statement): Promise<Row> {
  const [row] = await queryable.query<Row>(statement);
  if (!row) throw new Error("A statement that always has a row had none.");
  return row;
}

export interface Listener {
  onNotification: (payload: string) => void;
  /** Notifications may have been missed: at the start, and after each reconnect. */
  onConnect: () => void;
}

/** Postgres, real or embedded. Whoever opens it closes it. */
export interface Database extends Queryable {
  /** Without password. */
  readonly description: string;
  /** It has one connection, to a thread of this process. */
  readonly isEmbedded: boolean;
  /** Statements of `work` go through the given Queryable: the embedded database has no second connection. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /** Listens until the returned function is called; reconnects by itself. */
  listen(channel: string, listener: Listener): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** In milliseconds of a running event loop. */
export interface Deadlines {
  connectMs: number;
  statementMs: number;
}
