import { existsSync } from "node:fs";

/**
 * The process' environment with what a `.env` in the working directory adds; a variable that is set already wins. From then on
 * `process.env` is a plain copy: the real one asks the operating system at each read, and LangChain reads it some hundred times a turn.
 */
export function readEnvironment(): Record<string, string | undefined> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  process.env = { ...process.env };
  return process.env;
}
