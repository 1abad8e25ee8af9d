/**
 * A parameter of a statement. Anything else becomes text first: a value that the driver cannot serialise breaks the one connection of the
 * embedded database. A Buffer is sent in the binary form of its type.
 */
export type StatementValue = string | number | boolean | Date | null | Buffer | readonly string[];

/**
 * A statement; `name` makes the server keep its plan, so a name must always go with the same text. `timeoutMs` overrides the deadline of
 * the database.
 */
export interface Statement {
  name?: string;
  text: string;
  values?: readonly StatementValue[];
  timeoutMs?: number;
}

/** Something that runs statements: a database, or a transaction of one. */
export interface Queryable {
  /** Rows of one statement. Throws AppError `storage_unavailable` when Postgres cannot be reached; other errors pass unchanged. */
  query<Row>(statement: Statement): Promise<Row[]>;
}

/** Receives the notifications of a channel. */
export interface Listener {
  onNotification: (payload: string) => void;
  /** Called when notifications may have been missed: at the start, and after each reconnect. */
  onConnect: () => void;
}

/** Postgres, real or embedded. Whoever opens it closes it. */
export interface Database extends Queryable {
  /** For the log; without password. */
  readonly description: string;
  /** In this process: one connection, and each answer blocks the event loop. */
  readonly isEmbedded: boolean;
  /**
   * Runs `work` in one transaction, rolled back when it throws. Statements inside go through the given Queryable: with the one connection
   * of the embedded database, the Database itself would wait for ever.
   */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /** Listens on a channel until the returned function is called; reconnects by itself. */
  listen(channel: string, listener: Listener): Promise<() => Promise<void>>;
  /** Ends its connections; later statements fail. */
  close(): Promise<void>;
}

/** How long a real Postgres may take, in milliseconds of a running event loop. */
export interface Deadlines {
  /** For a connection, pooled or new. */
  connectMs: number;
  /** For the answer to one statement. */
  statementMs: number;
}
