import { existsSync, readFileSync } from "node:fs";
import { AppError } from "../../errors/app-error.ts";
import { SHORTEST_REACHABLE_KEY } from "./api-keys.ts";
import { type Config, Environment } from "./settings.ts";
import { isSecret } from "./show-settings.ts";

export type { Config };

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** In the order of .env.example. */
export const CONFIG_VARIABLES = Object.keys(Environment.shape);

/** Settings that are gone, and what took their place. */
const GONE = Object.fromEntries(
  ["SUMMARY", "ROUTER", "MEMORY"].flatMap((task) => {
    const instead = `is gone; give the model an entry with base_url and api_key in the file of MODELS, and name the entry in ${task}_MODEL`;
    return ["BASE_URL", "API_KEY", "API_KEY_FILE"].map((name) => [`${task}_${name}`, instead]);
  }),
);

/** An empty variable counts as unset. Throws AppError `invalid_configuration` that names every problem. */
export function parseConfig(environment: Record<string, string | undefined>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = Environment.safeParse(set);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => ({
        field: path.join("."),
        problem: `${message}; it is "${shown(path.join("."), set)}"`,
      }));
  for (const [field, problem] of Object.entries(GONE)) if (set[field]) problems.push({ field, problem });
  const isReachable = !LOOPBACK.test(set["HOST"] ?? "127.0.0.1");
  if (isReachable && parsed.data?.API_KEYS?.some(({ key }) => key.length < SHORTEST_REACHABLE_KEY)) {
    problems.push({
      field: "API_KEYS",
      problem: `has a key of fewer than ${SHORTEST_REACHABLE_KEY} characters, on a HOST that other machines can reach; make it longer`,
    });
  }
  if (isReachable && !set["API_KEYS"] && !set["JWT_SECRET"] && !set["JWT_JWKS_URL"]) {
    problems.push({
      field: "HOST",
      problem: `"${set["HOST"]}" can be reached from other machines; set API_KEYS (key:tenant,…) or JWT_SECRET or JWT_JWKS_URL, or use 127.0.0.1`,
    });
  }
  if (set["JWT_SECRET"] && set["JWT_JWKS_URL"]) {
    problems.push({ field: "JWT_SECRET", problem: "is set together with JWT_JWKS_URL; set the one that signs your tokens" });
  }
  if (set["QUESTION_WEBHOOK_URL"] && !set["QUESTION_WEBHOOK_SECRET"]) {
    problems.push({ field: "QUESTION_WEBHOOK_SECRET", problem: "is missing; QUESTION_WEBHOOK_URL is told nothing that is not signed" });
  }
  if (!parsed.success || problems.length > 0) {
    throw invalidConfiguration(problems);
  }
  return parsed.data;
}

function invalidConfiguration(problems: { field: string; problem: string }[]): AppError {
  const lines = problems.map(({ field, problem }) => `  ${field}: ${problem}`);
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  return new AppError("invalid_configuration", `The configuration has ${count}:\n${lines.join("\n")}`, { details: problems });
}

const MAX_SHOWN = 200;

function shown(name: string, set: Record<string, string | undefined>): string {
  return isSecret(name) || name.endsWith("URL") ? "…" : (set[name] ?? "").slice(0, MAX_SHOWN);
}

/** Each setting NAME without a value takes the text of the file NAME_FILE. Throws AppError `invalid_configuration`. */
export function readSettingFiles(environment: Record<string, string | undefined>): Record<string, string | undefined> {
  const read = { ...environment };
  const problems: { field: string; problem: string }[] = [];
  for (const name of CONFIG_VARIABLES) {
    const field = `${name}_FILE`;
    const file = environment[field];
    if (!file) continue;
    if (environment[name]) problems.push({ field, problem: `is set together with ${name}; set one of them` });
    try {
      read[name] ||= readFileSync(file, "utf8").trim();
    } catch (error) {
      problems.push({ field, problem: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})` });
    }
  }
  if (problems.length > 0) throw invalidConfiguration(problems);
  return read;
}

/**
 * The environment, its files and `.env`. `process.env` becomes a plain copy: the real one asks the operating system at each read, and
 * LangChain reads it often.
 */
export function readEnvironment(): Record<string, string | undefined> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  process.env = readSettingFiles(process.env);
  return process.env;
}
