import { AppError } from "../../../errors/app-error.ts";
import { withCauses } from "../../../errors/with-causes.ts";

/**
 * Errors of the server, not the statement: 08 connection, 53 resources, 57 and 25P03 shutdown or timeout, 58 its system, 25006 read-only.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SERVER_TROUBLE = /^(08|53|57|58)|^25(P03|006)$/;

const CONNECTION_OVER = /^(08|57P)|^(25P03|53300)$/;

const AWAY = "The database cannot be reached at the moment. Send the request again in a few seconds.";
const FULL =
  "The database has no room for this at the moment: no disk, memory or connection is free. Send the request again in a few seconds.";

/** The connection ended before the answer: the statement may have been carried out. */
export class ReplyLost extends AppError {
  constructor(cause: unknown) {
    super("storage_unavailable", AWAY, { cause });
  }
}

/** A prepared statement is older than a migration. It was not carried out, and its connection has others like it. */
export class StalePlan extends AppError {
  constructor(cause: unknown) {
    super("storage_unavailable", "The tables of the database have just changed. Send the request again.", { cause });
  }
}

/** PGlite has its own error class, so `instanceof` does not serve. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether Postgres threw the error or its cause. Its words quote statements and rows. */
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

/** The error of a server that is away or refuses connections. */
export function toConnectionError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("storage_unavailable", sqlState(error)?.startsWith("53") ? FULL : AWAY, { cause: error });
}

function isStalePlan(error: unknown): boolean {
  return sqlState(error) === "0A000" && (error as { routine?: string }).routine === "RevalidateCachedQuery";
}

/**
 * A sent statement's error: ReplyLost when its outcome is unknown, StalePlan, `storage_unavailable` when the server cannot work, else the
 * error itself.
 */
export function toStatementError(error: unknown): unknown {
  const state = sqlState(error);
  if (isStalePlan(error)) return new StalePlan(error);
  if (error instanceof AppError || (state !== undefined && !CONNECTION_OVER.test(state) && !SERVER_TROUBLE.test(state))) return error;
  return state === undefined || CONNECTION_OVER.test(state) ? new ReplyLost(error) : toConnectionError(error);
}
