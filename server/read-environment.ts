import { existsSync } from "node:fs";

/** The process' environment with what a `.env` in the working directory adds; a variable that is set already wins. */
export function readEnvironment(): Record<string, string | undefined> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  return process.env;
}
