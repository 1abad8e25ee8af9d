import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { AppError } from "../../../errors/app-error.ts";
import { parseConfig } from "../../../server/start/config.ts";

/** The error of a configuration that must be refused. */
function refusalOf(environment: Record<string, string | undefined>): AppError {
  try {
    parseConfig(environment);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the configuration was taken");
}

const fieldsOf = (error: AppError): string[] => (error.details ?? []).map(({ field }) => field);

describe("parseConfig", () => {
  test("has a default for everything that a first start needs", () => {
    expect(parseConfig({})).toEqual({
      PORT: 8000,
      HOST: "127.0.0.1",
      JWT_USER_CLAIM: "sub",
      RATE_LIMIT_PER_MINUTE: 120,
      RATE_LIMIT_PER_MINUTE_PER_TENANT: 0,
      MAX_CONCURRENT_TURNS_PER_USER: 4,
      MAX_CONCURRENT_TURNS_PER_TENANT: 0,
      MAX_CONCURRENT_TASKS_PER_USER: 8,
      TOKENS_PER_DAY: 0,
      DATA_DIR: "./.data",
      CHAT_MODEL: "gpt-4o-mini",
      HISTORY_WINDOW: 6,
      ENABLE_SUMMARY: true,
      SUMMARY_MIN_MESSAGES: 10,
      SUMMARY_UPDATE_DELTA: 5,
      ENABLE_CORE_MEMORY: true,
      ENABLE_KB_HANDLERS: true,
      ENABLE_EPISODIC_MEMORY: true,
      EPISODE_TOP_K: 3,
      EPISODE_SCOPE: "user",
      TIME_ZONE: "UTC",
      MEMORY_READ_TIMEOUT_MS: 800,
      MODEL_FIRST_TOKEN_TIMEOUT_MS: 30_000,
      MODEL_IDLE_TIMEOUT_MS: 30_000,
      TURN_LEASE_MS: 15_000,
      SHUTDOWN_GRACE_MS: 10_000,
      MAX_MESSAGE_CHARS: 32_000,
      JOB_CONCURRENCY: 8,
      OTEL_SERVICE_NAME: "conversation-graph",
      LOG_LEVEL: "info",
    });
  });

  test("takes an empty variable for an unset one, as .env files and compose write it", () => {
    const names = ["PORT", "HOST", "API_KEYS", "DATABASE_URL", "DATA_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "LOG_LEVEL"];
    expect(parseConfig(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(parseConfig({}));
  });

  test("takes names for ALLOWED_HOSTS, and neither ports nor origins", () => {
    expect(parseConfig({ ALLOWED_HOSTS: "Chat.Home.arpa, 192.0.2.7,fd00::7" }).ALLOWED_HOSTS).toEqual([
      "chat.home.arpa",
      "192.0.2.7",
      "fd00::7",
    ]);
    for (const ALLOWED_HOSTS of ["https://chat.home.arpa", "chat.home.arpa:8000", "*", "a,,b", "[::1]"]) {
      expect(fieldsOf(refusalOf({ ALLOWED_HOSTS }))).toEqual(["ALLOWED_HOSTS"]);
    }
  });

  test("leaves variables alone that are not its own", () => {
    expect(parseConfig({ PATH: "/bin", NODE_ENV: "test", PORT_RANGE: "what?" })).toEqual(parseConfig({}));
  });

  test("reads what is set", () => {
    const environment = {
      PORT: "0",
      DATABASE_URL: "postgresql://ada:secret@db:5432/chat?sslmode=require",
      OPENAI_BASE_URL: "http://127.0.0.1:11434/v1",
      HISTORY_WINDOW: "0",
      SUMMARY_MODEL: "gpt-4.1-nano",
      SUMMARY_MIN_MESSAGES: "1",
      SUMMARY_UPDATE_DELTA: "10000",
      CONTEXT_TOKEN_BUDGET: "4096",
      LOG_LEVEL: "silent",
    };
    const numbers = { PORT: 0, HISTORY_WINDOW: 0, SUMMARY_MIN_MESSAGES: 1, SUMMARY_UPDATE_DELTA: 10_000, CONTEXT_TOKEN_BUDGET: 4096 };
    expect(parseConfig(environment)).toMatchObject({ ...environment, ...numbers });
  });

  test("reads what is set of episodic memory", () => {
    const environment = {
      MILVUS_ADDRESS: "milvus:19530",
      MILVUS_TOKEN: "root:Milvus",
      MILVUS_DATABASE: "chat",
      EMBEDDING_BASE_URL: "http://127.0.0.1:8080/v1",
      EMBEDDING_API_KEY: "key",
      EMBEDDING_MODEL: "passage",
      EMBEDDING_QUERY_MODEL: "query",
      EMBEDDING_QUERY_PREFIX: "query: ",
      EMBEDDING_PASSAGE_PREFIX: "passage: ",
      EPISODE_SCOPE: "conversation",
      TIME_ZONE: "Asia/Shanghai",
    };
    const numbers = {
      EMBEDDING_DIMENSIONS: 384,
      EPISODE_TOP_K: 50,
      EPISODE_MIN_SIMILARITY: -0.25,
      EPISODE_MAX_AGE_DAYS: 365,
      MEMORY_READ_TIMEOUT_MS: 1,
    };
    const asText = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]));
    expect(parseConfig({ ...environment, ...asText })).toMatchObject({ ...environment, ...numbers });
    expect(parseConfig({ ENABLE_EPISODIC_MEMORY: "false" }).ENABLE_EPISODIC_MEMORY).toBe(false);
  });

  test("switches a layer off with false, and on with true", () => {
    expect(parseConfig({ ENABLE_SUMMARY: "false" }).ENABLE_SUMMARY).toBe(false);
    expect(parseConfig({ ENABLE_SUMMARY: "true" }).ENABLE_SUMMARY).toBe(true);
    expect(refusalOf({ ENABLE_SUMMARY: "off" }).message).toContain('ENABLE_SUMMARY: must be true or false; it is "off"');
  });

  test("reports every problem at once, each with its variable, its value and what is allowed", () => {
    const refusal = refusalOf({ PORT: "80a", HISTORY_WINDOW: "-1", LOG_LEVEL: "loud", TURN_LEASE_MS: "10", HOST: "0.0.0.0" });
    expect(refusal.code).toBe("invalid_configuration");
    expect(fieldsOf(refusal).sort()).toEqual(["HISTORY_WINDOW", "HOST", "LOG_LEVEL", "PORT", "TURN_LEASE_MS"]);
    expect(refusal.message).toContain("5 problems");
    for (const part of ['PORT: must be a whole number of 0 or more; it is "80a"', '"-1"', '"loud"', '"10"', '"0.0.0.0"', "API_KEYS"]) {
      expect(refusal.message).toContain(part);
    }
  });

  test.each([
    ["PORT", "65536"],
    ["PORT", "1e3"],
    ["PORT", "8000.5"],
    ["PORT", " 8000"],
    ["HISTORY_WINDOW", "201"],
    ["SUMMARY_MIN_MESSAGES", "0"],
    ["SUMMARY_MIN_MESSAGES", "10001"],
    ["SUMMARY_UPDATE_DELTA", "0"],
    ["SUMMARY_UPDATE_DELTA", "five"],
    ["ENABLE_SUMMARY", "1"],
    ["ENABLE_SUMMARY", "yes"],
    ["ENABLE_SUMMARY", "False"],
    ["ENABLE_EPISODIC_MEMORY", "on"],
    ["EPISODE_TOP_K", "0"],
    ["EPISODE_TOP_K", "51"],
    ["EPISODE_MIN_SIMILARITY", "1.01"],
    ["EPISODE_MIN_SIMILARITY", ".5"],
    ["EPISODE_SCOPE", "tenant"],
    ["EPISODE_MAX_AGE_DAYS", "0"],
    ["EMBEDDING_DIMENSIONS", "1"],
    ["EMBEDDING_BASE_URL", "localhost:8080"],
    ["MILVUS_ADDRESS", "milvus"],
    ["MILVUS_ADDRESS", "milvus:19530/chat"],
    ["TIME_ZONE", "Lisbon"],
    ["CONTEXT_TOKEN_BUDGET", "255"],
    ["MODEL_FIRST_TOKEN_TIMEOUT_MS", "0"],
    ["MAX_MESSAGE_CHARS", "0"],
    ["MAX_MESSAGE_CHARS", "99999999999999999999"],
    ["OPENAI_BASE_URL", "localhost:11434"],
    ["OPENAI_BASE_URL", "file:///etc/passwd"],
    ["TRUST_PROXY", "1.2.3"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["TRUST_PROXY", "loopback,2"],
    ["TRUST_PROXY", "true"],
    ["CORS_ORIGINS", "https://chat.example.org/"],
    ["CORS_ORIGINS", "https://*.example.org"],
    ["CORS_ORIGINS", "chat.example.org"],
    ["JWT_JWKS_URL", "login.example.org"],
    ["JWT_SECRET", "too short"],
    ["DATABASE_URL", "mysql://db/chat"],
    ["DATABASE_URL", "db/chat"],
  ])("refuses %s=%p", (name, value) => {
    expect(fieldsOf(refusalOf({ [name]: value }))).toEqual([name]);
  });

  test.each([
    ["2", 2],
    ["loopback, 10.0.0.0/8,fd00::/8,::1", "loopback, 10.0.0.0/8,fd00::/8,::1"],
  ])("takes TRUST_PROXY=%p", (given, taken) => {
    expect(parseConfig({ TRUST_PROXY: given }).TRUST_PROXY).toBe(taken);
  });

  test.each(["MODEL_FIRST_TOKEN_TIMEOUT_MS", "MODEL_IDLE_TIMEOUT_MS", "MEMORY_READ_TIMEOUT_MS", "TURN_LEASE_MS", "SHUTDOWN_GRACE_MS"])(
    "refuses a %s longer than a timer can run: it would fire at once",
    (name) => {
      expect(fieldsOf(refusalOf({ [name]: "2147483648" }))).toEqual([name]);
      expect(parseConfig({ [name]: "2147483647" })).toMatchObject({ [name]: 2_147_483_647 });
    },
  );
});

describe("secrets in the environment", () => {
  test("are in no message, however wrong they are", () => {
    const refusal = refusalOf({
      API_KEYS: "hunter2secret",
      DATABASE_URL: "mysql://ada:hunter2secret@db/chat",
      OPENAI_BASE_URL: "ftp://ada:hunter2secret@models",
      OPENAI_API_KEY: "hunter2secret",
      EMBEDDING_BASE_URL: "ftp://ada:hunter2secret@models",
      EMBEDDING_API_KEY: "hunter2secret",
      MILVUS_TOKEN: "hunter2secret",
      PORT: "what?",
    });
    expect(fieldsOf(refusal).sort()).toEqual(["API_KEYS", "DATABASE_URL", "EMBEDDING_BASE_URL", "OPENAI_BASE_URL", "PORT"]);
    expect(JSON.stringify([refusal.message, refusal.details])).not.toContain("hunter2secret");
  });

  test("property: no API key is ever part of a refusal", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{16,24}$/), fc.constantFrom("", ":", ":a b", ":a:b", ":ten/ant"), (key, rest) => {
        expect(refusalOf({ API_KEYS: key + rest }).message).not.toContain(key);
      }),
    );
  });
});

describe("a HOST that other machines can reach", () => {
  test.each(["0.0.0.0", "::", "192.168.1.5", "chat.example.org", "localhost.example.org", "127.0.0.1.example.org"])(
    "is refused without API keys: %s",
    (HOST) => {
      const refusal = refusalOf({ HOST });
      expect(fieldsOf(refusal)).toEqual(["HOST"]);
      expect(refusal.message).toContain(`"${HOST}" can be reached from other machines; set API_KEYS`);
      expect(fieldsOf(refusalOf({ HOST, API_KEYS: "" }))).toEqual(["HOST"]);
      expect(parseConfig({ HOST, API_KEYS: "long-enough:acme" }).HOST).toBe(HOST);
    },
  );

  test.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("is not %s", (HOST) => {
    expect(parseConfig({ HOST }).HOST).toBe(HOST);
  });
});
