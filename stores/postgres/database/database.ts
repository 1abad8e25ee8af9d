/**
 * What a statement may be given. Anything else is turned into text first: a value that the driver fails to serialise leaves the one
 * connection of the embedded database out of step. A Buffer is given as it is, in the binary form of the type that the statement says.
 */
export type StatementValue = string | number | boolean | Date | null | Buffer | readonly string[];

/**
 * A statement; `name` makes the server keep its plan, so a name must always go with the same text. `timeoutMs` is how long it may take where
 * that is not what all statements of the database have.
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

/** Hears of what is told on a channel. */
export interface Listener {
  /** Called with the payload of every NOTIFY on the channel. */
  onNotification: (payload: string) => void;
  /** Called when notifications may have been missed: at the beginning, and after each time the connection was lost. */
  onConnect: () => void;
}

/** Postgres, real or embedded. Whoever opens it closes it. */
export interface Database extends Queryable {
  /** For the log: what kind of database this is and where. Holds no password. */
  readonly description: string;
  /** It is in this process: with one connection, and it answers without letting go of the event loop. */
  readonly isEmbedded: boolean;
  /**
   * Runs `work` in one transaction, rolled back when it throws. Everything inside goes through the given Queryable: the embedded
   * database has a single connection, so the Database itself waits for ever there.
   */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /** Listens on a channel until the returned function is called; a lost connection is taken up again by itself. */
  listen(channel: string, listener: Listener): Promise<() => Promise<void>>;
  /** Ends its connections; statements after it fail. */
  close(): Promise<void>;
}

/** How long a real Postgres may take, in milliseconds in which the event loop of this process went round. */
export interface Deadlines {
  /** For a connection, from the pool or a new one. */
  connectMs: number;
  /** For the answer to one statement. */
  statementMs: number;
}
