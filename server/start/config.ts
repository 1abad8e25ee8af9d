import { isIP } from "node:net";
import { z } from "zod";
import { existsSync } from "node:fs";
import { AppError } from "../../errors/app-error.ts";
import { SECTION_NAME } from "../../memory/agent/core-sections.ts";
import { apiKeys, SHORTEST_REACHABLE_KEY } from "../auth/api-keys.ts";

/** The longest time a timer of Node runs, in milliseconds (2^31 - 1, about 25 days); a longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

const wholeNumber = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number of ${minimum} or more`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be between ${minimum} and ${maximum}`);

const httpUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:/.test(text), "must be a URL that begins with http:// or https://");

const origins = z
  .string()
  .transform((text) => text.split(",").map((origin) => origin.trim()))
  .refine(
    (given) =>
      given.every((origin) => origin === "*" || (!origin.includes("*") && URL.canParse(origin) && new URL(origin).origin === origin)),
    "must be origins joined by commas, like https://chat.example.org, or * for every one",
  );

const HOST_NAME = /^[a-z\d_]([a-z\d_.-]{0,251}[a-z\d_])?$/i;
const hostNames = z
  .string()
  .transform((text) => text.split(",").map((name) => name.trim().toLowerCase()))
  .refine(
    (names) => names.every((name) => HOST_NAME.test(name) || isIP(name) !== 0),
    "must be host names or addresses joined by commas, without ports, like chat.home.arpa",
  );

/** An address or network as Express takes it. */
function isProxy(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128));
}

/** What Express understands: how many proxies stand in front, or which addresses they have. */
const trustedProxies = z
  .string()
  .refine(
    (text) => /^\d{1,2}$/.test(text) || text.split(",").every((one) => isProxy(one.trim())),
    "must be the number of proxies in front, or their addresses or networks joined by commas, like loopback,10.0.0.0/8",
  )
  .transform((text) => (/^\d+$/.test(text) ? Number(text) : text));

const sectionNames = z
  .string()
  .transform((text) => text.split(",").map((name) => name.trim()))
  .refine(
    (names) => names.length <= 20 && names.every((name) => SECTION_NAME.test(name)),
    "must be at most 20 names joined by commas, each of small letters, digits, dash and underscore, like hobbies,family",
  );

const decimalNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, `must be a number between ${minimum} and ${maximum}`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be a number between ${minimum} and ${maximum}`);

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

const onOrOff = (fallback: boolean) =>
  z
    .enum(["true", "false"], "must be true or false")
    .default(fallback ? "true" : "false")
    .transform((text) => text === "true");

/** Undefined when it is no `name=percent-encoded value`. */
function headerOf(pair: string): [name: string, value: string] | undefined {
  const [, name = "", value = ""] = /^\s*([\w-]+)=([\x21-\x7e]+)\s*$/.exec(pair) ?? [];
  try {
    return name === "" ? undefined : [name, decodeURIComponent(value)];
  } catch {
    return undefined;
  }
}

const headers = z
  .string()
  .transform((text) => text.split(",").map(headerOf))
  .refine((pairs) => pairs.every((pair) => pair !== undefined), "must be name=value pairs joined by commas, values percent-encoded")
  .transform((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== undefined)));

const Environment = z.object({
  PORT: wholeNumber(0, 65_535).default(8000),
  HOST: z.string().default("127.0.0.1"),
  API_KEYS: apiKeys.optional(),
  JWT_SECRET: z.string().min(32, "must have 32 or more characters").optional(),
  JWT_JWKS_URL: httpUrl.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  JWT_USER_CLAIM: z.string().default("sub"),
  JWT_TENANT_CLAIM: z.string().optional(),
  CORS_ORIGINS: origins.optional(),
  ALLOWED_HOSTS: hostNames.optional(),
  TRUST_PROXY: trustedProxies.optional(),
  DATABASE_URL: z
    .string()
    .refine((text) => URL.canParse(text) && /^postgres(ql)?:/.test(text), "must be a URL like postgres://user:password@host:5432/database")
    .optional(),
  DATA_DIR: z.string().default("./.data"),
  MILVUS_ADDRESS: z
    .string()
    .regex(/^(https?:\/\/)?[^\s:/]+:\d{1,5}$/, "must be host:port")
    .optional(),
  MILVUS_TOKEN: z.string().optional(),
  MILVUS_DATABASE: z.string().optional(),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: httpUrl.optional(),
  CHAT_MODEL: z.string().default("gpt-4o-mini"),
  SUMMARY_MODEL: z.string().optional(),
  ROUTER_MODEL: z.string().optional(),
  MEMORY_MODEL: z.string().optional(),
  EMBEDDING_BASE_URL: httpUrl.optional(),
  EMBEDDING_API_KEY: z.string().optional(),
  EMBEDDING_MODEL: z.string().optional(),
  EMBEDDING_DIMENSIONS: wholeNumber(2, 32_768).optional(),
  EMBEDDING_QUERY_MODEL: z.string().optional(),
  EMBEDDING_QUERY_PREFIX: z.string().optional(),
  EMBEDDING_PASSAGE_PREFIX: z.string().optional(),
  HISTORY_WINDOW: wholeNumber(0, 200).default(6),
  ENABLE_SUMMARY: onOrOff(true),
  SUMMARY_MIN_MESSAGES: wholeNumber(1, 10_000).default(10),
  SUMMARY_UPDATE_DELTA: wholeNumber(1, 10_000).default(5),
  ENABLE_EPISODIC_MEMORY: onOrOff(true),
  EPISODE_TOP_K: wholeNumber(1, 50).default(3),
  EPISODE_MIN_SIMILARITY: decimalNumber(-1, 1).optional(),
  EPISODE_SCOPE: z.enum(["user", "conversation"], "must be user or conversation").default("user"),
  EPISODE_MAX_AGE_DAYS: wholeNumber(1, 36_500).optional(),
  ENABLE_CORE_MEMORY: onOrOff(true),
  CORE_MEMORY_SECTIONS: sectionNames.optional(),
  ENABLE_KB_HANDLERS: onOrOff(true),
  TIME_ZONE: z.string().refine(isTimeZone, "must be a time zone like Europe/Lisbon or UTC").default("UTC"),
  CONTEXT_TOKEN_BUDGET: wholeNumber(256).optional(),
  MODEL_FIRST_TOKEN_TIMEOUT_MS: wholeNumber(1, LONGEST_TIMER_MS).default(30_000),
  MODEL_IDLE_TIMEOUT_MS: wholeNumber(1, LONGEST_TIMER_MS).default(30_000),
  MEMORY_READ_TIMEOUT_MS: wholeNumber(1, LONGEST_TIMER_MS).default(800),
  TURN_LEASE_MS: wholeNumber(1_000, LONGEST_TIMER_MS).default(15_000),
  SHUTDOWN_GRACE_MS: wholeNumber(0, LONGEST_TIMER_MS).default(10_000),
  MAX_MESSAGE_CHARS: wholeNumber(1, 1_000_000).default(32_000),
  JOB_CONCURRENCY: wholeNumber(1, 1_000).default(8),
  MAX_TURNS_PER_PROCESS: wholeNumber(0, 1_000_000).optional(),
  RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000).default(120),
  RATE_LIMIT_PER_MINUTE_PER_TENANT: wholeNumber(0, 10_000_000).default(0),
  MAX_CONCURRENT_TURNS_PER_USER: wholeNumber(0, 100_000).default(4),
  MAX_CONCURRENT_TURNS_PER_TENANT: wholeNumber(0, 1_000_000).default(0),
  MAX_CONCURRENT_TASKS_PER_USER: wholeNumber(0, 100_000).default(8),
  TOKENS_PER_DAY: wholeNumber(0).default(0),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
  OTEL_SERVICE_NAME: z.string().default("conversation-graph"),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

export type Config = z.infer<typeof Environment>;

/** The names of all environment variables that are read, in the order in which .env.example explains them. */
export const CONFIG_VARIABLES = Object.keys(Environment.shape);

/**
 * The configuration from environment variables; an empty one counts as unset. Throws one AppError `invalid_configuration` that names
 * every problem.
 */
export function parseConfig(environment: Record<string, string | undefined>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = Environment.safeParse(set);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => ({
        field: path.join("."),
        problem: `${message}; it is "${shown(path.join("."), set)}"`,
      }));
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
  if (!parsed.success || problems.length > 0) {
    const lines = problems.map(({ field, problem }) => `  ${field}: ${problem}`);
    throw new AppError(
      "invalid_configuration",
      `The configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${lines.join("\n")}`,
      { details: problems },
    );
  }
  return parsed.data;
}

/** The value as an error may show it: secrets are not shown. */
function shown(name: string, set: Record<string, string | undefined>): string {
  return /KEY|URL|SECRET|HEADERS|TOKEN$/.test(name) ? "…" : (set[name] ?? "");
}

/**
 * The process' environment with what a `.env` in the working directory adds; a variable that is set already wins. From then on
 * `process.env` is a plain copy: the real one asks the operating system at each read, and LangChain reads it some hundred times a turn.
 */
export function readEnvironment(): Record<string, string | undefined> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  process.env = { ...process.env };
  return process.env;
}
