import type { AppError } from "../errors/app-error.ts";

export interface CauseFacts {
  name: string;
  code?: unknown;
  status?: unknown;
}

const MOST_CAUSES = 10;

/** Outermost first. */
function causesOf(error: Error): Error[] {
  const causes: Error[] = [];
  for (let cause = error.cause; cause instanceof Error && causes.length < MOST_CAUSES; cause = cause.cause) causes.push(cause);
  return causes;
}

/** What the log may say of an error's causes, outermost first: names, codes and statuses, not messages, which can quote what a user said. */
export function causeFacts(error: Error): CauseFacts[] {
  return causesOf(error).map((cause) => ({
    name: cause.name,
    ...("code" in cause && cause.code !== undefined ? { code: cause.code } : {}),
    ...("status" in cause && cause.status !== undefined ? { status: cause.status } : {}),
  }));
}

/** A frame of V8's stack trace: `at name (file:line:column)`. https://v8.dev/docs/stack-trace-api */
const FRAME = /^ {4}at .*(?::\d+:\d+|<anonymous>|native)\)?$/;

/** What the log says of an error that should not have happened: besides its causes where the innermost was thrown, again without messages. */
export function errorFacts(error: AppError): { code: string; causes: CauseFacts[]; at: string[] } {
  const innermost = causesOf(error).at(-1) ?? error;
  const at = (innermost.stack ?? "").split("\n").filter((line) => FRAME.test(line));
  return { code: error.code, causes: causeFacts(error), at: at.map((line) => line.trim()) };
}
