import { AppError } from "../../../errors/app-error.ts";

/**
 * SQLSTATE classes that speak of the server's state rather than of the statement: 08 connection, 53 out of resources, 57 and 25P03
 * server going down or a time limit, 25006 switched to read-only. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SERVER_TROUBLE = /^(08|53|57)|^25(P03|006)$/;

/** Those with which the server ends the connection: it may have done what it was asked before. */
const CONNECTION_OVER = /^(08|57P)|^(25P03|53300)$/;

const AWAY = "The database cannot be reached at the moment. Send the request again in a few seconds.";

/** The connection ended, or was given up, before a statement was answered: nobody knows whether it was carried out. */
export class ReplyLost extends AppError {
  constructor(cause: unknown) {
    super("storage_unavailable", AWAY, { cause });
  }
}

/** The SQLSTATE of an error that Postgres itself reported. PGlite has an error class of its own, so `instanceof` does not serve. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Of the given index, or of any. */
export function isUniqueViolation(error: unknown, index?: string): boolean {
  if (sqlState(error) !== "23505") return false;
  return index === undefined || (error as { constraint?: string }).constraint === index;
}

export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === "23503";
}

/** A value or a row is not what its column, or a constraint, allows: SQLSTATE classes 22 and 23. */
export function isRefusedRow(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}

/** A statement gave up waiting for a lock, as `lock_timeout` told it to, or because it and another waited for each other. */
export function isLockFailure(error: unknown): boolean {
  return ["55P03", "40P01"].includes(sqlState(error) ?? "");
}

/** A Postgres that cannot be reached becomes `storage_unavailable`; an error about the statement itself passes unchanged. */
export function toStorageError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const state = sqlState(error);
  if (state !== undefined && !SERVER_TROUBLE.test(state)) return error;
  return new AppError("storage_unavailable", AWAY, { cause: error });
}

/** The same for a statement that was sent: ReplyLost when the server has not said what became of it. */
export function toStatementError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const state = sqlState(error);
  return state === undefined || CONNECTION_OVER.test(state) ? new ReplyLost(error) : toStorageError(error);
}
