import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";
import { AsyncLocalStorage } from "node:async_hooks";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../errors/app-error.ts";
import { withCauses } from "../errors/with-causes.ts";

function standardOutput(): DestinationStream | undefined {
  return process.stdout.isTTY ? pretty({ sync: true, colorize: true, ignore: "pid,hostname" }) : undefined;
}

/** Logs JSON lines to standard output, readable ones to a terminal, never message text. */
export function makeLogger(level: string, destination: DestinationStream | undefined = standardOutput()): Logger {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"`, mixin: () => ({ ...current.getStore() }) };
  return destination ? pino(options, destination) : pino(options);
}

const SANE = /^[\w.-]{1,100}$/;

interface RequestFacts {
  request_id: string;
  trace_id?: string;
}

const current = new AsyncLocalStorage<RequestFacts | undefined>();

/** The given id if it is safe in a log, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && SANE.test(given) ? given : uuidv7();
}

/** Adds the facts to every log line of `run`. */
export function withinRequest<Result>(facts: RequestFacts, run: () => Result): Result {
  return current.run(facts, run);
}

/** Runs what belongs to no request, even when one started it. */
export function outsideRequests<Result>(run: () => Result): Result {
  return current.run(undefined, run);
}

export interface CauseFacts {
  name: string;
  /** Another server's words. */
  said?: string;
  code?: unknown;
  status?: unknown;
}

/** An error's causes, outermost first, without messages, which may quote a user. */
export function causeFacts(error: Error): CauseFacts[] {
  const said = error instanceof AppError ? error.serverWords : undefined;
  return withCauses(error.cause).map((cause, index) => ({
    name: cause.name,
    ...(said !== undefined && index === 0 ? { said } : {}),
    ...("code" in cause && cause.code !== undefined ? { code: cause.code } : {}),
    ...("status" in cause && cause.status !== undefined ? { status: cause.status } : {}),
  }));
}

/** https://v8.dev/docs/stack-trace-api */
const FRAME = /^ {4}at .*(?::\d+:\d+|<anonymous>|native)\)?$/;

/** The causes of an unexpected error and where the innermost was thrown, without messages. */
export function errorFacts(error: AppError): { code: string; causes: CauseFacts[]; at: string[] } {
  const innermost = withCauses(error.cause).at(-1) ?? error;
  const at = (innermost.stack ?? "").split("\n").filter((line) => FRAME.test(line));
  return { code: error.code, causes: causeFacts(error), at: at.map((line) => line.trim()) };
}
