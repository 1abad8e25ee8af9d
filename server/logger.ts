import { pino, type DestinationStream, type Logger } from "pino";
import pretty from "pino-pretty";
import { requestFacts } from "./request-id.ts";

function standardOutput(): DestinationStream | undefined {
  return process.stdout.isTTY ? pretty({ sync: true, colorize: true, ignore: "pid,hostname" }) : undefined;
}

/**
 * JSON lines on standard output; lines for people when that is a terminal. Those of a request carry its id. Message text is never logged at
 * info.
 */
export function makeLogger(level: string, destination: DestinationStream | undefined = standardOutput()): Logger {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"`, mixin: requestFacts };
  return destination ? pino(options, destination) : pino(options);
}
