import { pino, type Logger } from "pino";
import pretty from "pino-pretty";

/** JSON lines on standard output; lines for people when that is a terminal. Message text is never logged at info. */
export function makeLogger(level: string): Logger {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  return process.stdout.isTTY ? pino(options, pretty({ sync: true, colorize: true, ignore: "pid,hostname" })) : pino(options);
}
