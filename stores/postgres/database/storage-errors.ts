import { AppError } from "../../../errors/app-error.ts";
import { withCauses } from "../../../errors/with-causes.ts";

/**
 * About the server, not the statement: 08 connection, 53 resources, 57 and 25P03 shutdown or timeout, 25006 read-only.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SERVER_TROUBLE = /^(08|53|57)|^25(P03|006)$/;

/** The server ends the connection. */
const CONNECTION_OVER = /^(08|57P)|^(25P03|53300)$/;

const AWAY = "The database cannot be reached at the moment. Send the request again in a few seconds.";

/** The connection ended before the answer: the statement may have been carried out. */
export class ReplyLost extends AppError {
  constructor(cause: unknown) {
    super("storage_unavailable", AWAY, { cause });
  }
}

/** PGlite has its own error class, so `instanceof` does not serve. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The error, or what caused it, is Postgres' own. Its words quote statements and rows. */
export function isDatabaseError(error: unknown): boolean {
  return withCauses(error).some((cause) => sqlState(cause) !== undefined);
}

export function isUniqueViolation(error: unknown, index?: string): boolean {
  if (sqlState(error) !== "23505") return false;
  return index === undefined || (error as { constraint?: string }).constraint === index;
}

export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === "23503";
}

/** SQLSTATE classes 22 and 23. */
export function isRefusedRow(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}

export function isLockFailure(error: unknown): boolean {
  return ["55P03", "40P01"].includes(sqlState(error) ?? "");
}

/** An unreachable Postgres as `storage_unavailable`; errors of a statement pass unchanged. */
export function toStorageError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const state = sqlState(error);
  if (state !== undefined && !SERVER_TROUBLE.test(state)) return error;
  return new AppError("storage_unavailable", AWAY, { cause: error });
}

/** The same for a sent statement: ReplyLost when its outcome is unknown. */
export function toStatementError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const state = sqlState(error);
  return state === undefined || CONNECTION_OVER.test(state) ? new ReplyLost(error) : toStorageError(error);
}
