import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { AppError } from "../../../errors/app-error.ts";
import { parseConfig, readSettingFiles } from "../../../server/settings/config.ts";

/** The error of a configuration that must be refused. */
function refusalOf(environment: Record<string, string | undefined>, read: (from: typeof environment) => unknown = parseConfig): AppError {
  try {
    read(environment);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the configuration was taken");
}

const fieldsOf = (error: AppError): string[] => (error.details ?? []).map(({ field }) => field);

describe("parseConfig", () => {
  test("takes an empty variable as an unset one, since .env files and compose write it so", () => {
    const names = ["PORT", "HOST", "API_KEYS", "DATABASE_URL", "DATA_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "LOG_LEVEL"];
    expect(parseConfig(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(parseConfig({}));
  });

  test("ignores variables that are not its own", () => {
    expect(parseConfig({ PATH: "/bin", NODE_ENV: "test", PORT_RANGE: "what?" })).toEqual(parseConfig({}));
  });

  test("reports every problem at once, each with its variable, its value and the allowed values", () => {
    const refusal = refusalOf({ PORT: "80a", HISTORY_WINDOW: "-1", LOG_LEVEL: "loud", TURN_LEASE_MS: "10", HOST: "0.0.0.0" });
    expect(refusal.code).toBe("invalid_configuration");
    expect(fieldsOf(refusal).sort()).toEqual(["HISTORY_WINDOW", "HOST", "LOG_LEVEL", "PORT", "TURN_LEASE_MS"]);
    expect(refusal.message).toContain("5 problems");
    const port = 'PORT: must be a whole number of 0 or more; it is "80a"';
    for (const part of [port, '"-1"', '"loud"', '"10"', '"0.0.0.0"', "API_KEYS"]) expect(refusal.message).toContain(part);
  });

  test.each(
    Object.entries({
      PORT: ["65536", "1e3", "8000.5", " 8000"],
      HISTORY_WINDOW: ["201"],
      SUMMARY_MIN_MESSAGES: ["0", "10001"],
      SUMMARY_UPDATE_DELTA: ["0", "five"],
      ENABLE_SUMMARY: ["1", "yes", "False", "off"],
      ENABLE_EPISODIC_MEMORY: ["on"],
      EPISODE_TOP_K: ["0", "51"],
      EPISODE_MIN_SIMILARITY: ["1.01", ".5"],
      EPISODE_SCOPE: ["tenant"],
      EPISODE_MAX_AGE_DAYS: ["0"],
      RETENTION_DAYS: ["0", "36501", "1.5"],
      EMBEDDING_DIMENSIONS: ["1"],
      EMBEDDING_BASE_URL: ["localhost:8080"],
      MILVUS_ADDRESS: ["milvus", "milvus:19530/chat"],
      TIME_ZONE: ["Lisbon"],
      CONTEXT_TOKEN_BUDGET: ["255"],
      MODEL_FIRST_TOKEN_TIMEOUT_MS: ["0"],
      MAX_MESSAGE_CHARS: ["0", "99999999999999999999"],
      OPENAI_BASE_URL: ["localhost:11434", "file:///etc/passwd"],
      TRUST_PROXY: ["1.2.3", "10.0.0.0/33", "loopback,2", "true"],
      CORS_ORIGINS: ["https://chat.example.org/", "https://*.example.org", "chat.example.org"],
      ALLOWED_HOSTS: ["https://chat.home.arpa", "chat.home.arpa:8000", "*", "a,,b", "[::1]"],
      JWT_JWKS_URL: ["login.example.org"],
      JWT_SECRET: ["too short"],
      DATABASE_URL: ["mysql://db/chat", "db/chat"],
    }),
  )("refuses %s=%p", (name, values) => {
    for (const value of values) expect({ value, fields: fieldsOf(refusalOf({ [name]: value })) }).toEqual({ value, fields: [name] });
  });

  test.each([
    ["TRUST_PROXY", "2", 2],
    ["TRUST_PROXY", "loopback, 10.0.0.0/8,fd00::/8,::1", "loopback, 10.0.0.0/8,fd00::/8,::1"],
    ["ALLOWED_HOSTS", "Chat.Home.arpa, 192.0.2.7,fd00::7", ["chat.home.arpa", "192.0.2.7", "fd00::7"]],
    ["ENABLE_SUMMARY", "false", false],
    ["ENABLE_SUMMARY", "true", true],
    ["ENABLE_EPISODIC_MEMORY", "false", false],
    ["EPISODE_MIN_SIMILARITY", "-0.25", -0.25],
    ["HISTORY_WINDOW", "0", 0],
    ["SUMMARY_UPDATE_DELTA", "10000", 10_000],
    ["DATABASE_URL", "postgresql://ada:secret@db:5432/chat?sslmode=require", "postgresql://ada:secret@db:5432/chat?sslmode=require"],
    ["MILVUS_ADDRESS", "milvus:19530", "milvus:19530"],
    ["EMBEDDING_QUERY_PREFIX", "query: ", "query: "],
    ["EPISODE_SCOPE", "conversation", "conversation"],
    ["TIME_ZONE", "Asia/Shanghai", "Asia/Shanghai"],
    ["LOG_LEVEL", "silent", "silent"],
  ])("takes %s=%p", (name, given, taken) => expect(parseConfig({ [name]: given })).toEqual({ ...parseConfig({}), [name]: taken }));

  test.each(["MODEL_FIRST_TOKEN_TIMEOUT_MS", "MODEL_IDLE_TIMEOUT_MS", "MEMORY_READ_TIMEOUT_MS", "TURN_LEASE_MS", "SHUTDOWN_GRACE_MS"])(
    "refuses a %s that is longer than a timer can run",
    (name) => {
      expect(fieldsOf(refusalOf({ [name]: "2147483648" }))).toEqual([name]);
      expect(parseConfig({ [name]: "2147483647" })).toMatchObject({ [name]: 2_147_483_647 });
    },
  );
});

describe("API_KEYS", () => {
  test("is a list of keys, each with its tenant and, unless it may write, its scope", () => {
    const given = "first-key:acme, second-key:acme:read,third+key/=:b.c-d_e:admin,fourth-key:acme:write";
    expect(parseConfig({ API_KEYS: given }).API_KEYS).toEqual([
      { key: "first-key", tenantId: "acme", scope: "write" },
      { key: "second-key", tenantId: "acme", scope: "read" },
      { key: "third+key/=", tenantId: "b.c-d_e", scope: "admin" },
      { key: "fourth-key", tenantId: "acme", scope: "write" },
    ]);
  });

  test.each([
    ...["no-tenant-here", "empty-tenant:", ":acme", "three:parts:here", "long-enough:a b", "long-enough:acme,", ","],
    ...["long-enough:acme:", "long-enough:acme:READ", "long-enough:acme:owner", "long-enough:acme:read:write", "long-enough::read"],
    ...["with a space:acme", "schlüsselwort:acme"],
  ])("is refused when an entry is wrong: %p", (API_KEYS) => {
    const refusal = refusalOf({ API_KEYS });
    expect(new Set(fieldsOf(refusal))).toEqual(new Set(["API_KEYS"]));
    expect(refusal.message).toContain("key:tenant");
  });

  test("may have a short key only when no other machine can reach the service", () => {
    expect(parseConfig({ API_KEYS: "key-a:acme" }).API_KEYS).toEqual([{ key: "key-a", tenantId: "acme", scope: "write" }]);
    expect(() => parseConfig({ HOST: "0.0.0.0", API_KEYS: "long-enough:acme,key-abc:acme" })).toThrow(
      /API_KEYS: has a key of fewer than 8/,
    );
    expect(parseConfig({ HOST: "0.0.0.0", API_KEYS: "key-abcd:acme" }).HOST).toBe("0.0.0.0");
  });

  test("is refused when two entries have the same key", () => {
    const refusal = refusalOf({ API_KEYS: "same-key-here:acme,other-key:acme:read,same-key-here:acme:read" });
    expect(fieldsOf(refusal)).toEqual(["API_KEYS"]);
    expect(refusal.message).toContain("the same key twice");
    expect(refusal.message).not.toContain("same-key-here");
  });
});

describe("secrets in the environment", () => {
  test("stand in no error message, however wrong they are", () => {
    const refusal = refusalOf({
      API_KEYS: "good-key-for:acme,short:acme,hunter2secret",
      OPENAI_API_KEY: "hunter2secret",
      MILVUS_TOKEN: "hunter2secret",
      OPENAI_BASE_URL: "ftp://ada:hunter2secret@models",
      EMBEDDING_BASE_URL: "ftp://ada:hunter2secret@models",
      DATABASE_URL: "mysql://ada:hunter2secret@db/chat",
      PORT: "what?",
    });
    expect(fieldsOf(refusal).sort()).toEqual(["API_KEYS", "DATABASE_URL", "EMBEDDING_BASE_URL", "OPENAI_BASE_URL", "PORT"]);
    expect(refusal.message).toContain("API_KEYS: must be key:tenant pairs");
    expect(JSON.stringify([refusal.message, refusal.details])).not.toMatch(/hunter2secret|good-key-for/);
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

  test.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("is not the HOST %s, which needs no API keys", (HOST) =>
    expect(parseConfig({ HOST }).HOST).toBe(HOST),
  );
});

describe("readSettingFiles", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "conversation-graph-settings-"));
  const file = path.join(folder, "api_keys");
  writeFileSync(file, "some-long-secret:acme\n");
  afterAll(() => rmSync(folder, { recursive: true }));

  test("gives a setting the text of its file, and leaves other variables unchanged", () => {
    const environment = { API_KEYS_FILE: file, API_KEYS: "", PORT: "1", LS_COLORS_FILE: "/nowhere" };
    expect(readSettingFiles(environment)).toEqual({ ...environment, API_KEYS: "some-long-secret:acme" });
  });

  test("reads instructions of several lines, and the secret of every model's server", () => {
    const role = path.join(folder, "role");
    writeFileSync(role, "You are Calypso.\nBe kind.\n");
    const read = parseConfig(readSettingFiles({ INSTRUCTIONS_FILE: role, OPENAI_API_KEY_FILE: file, EMBEDDING_API_KEY_FILE: file }));
    const key = "some-long-secret:acme";
    expect(read).toMatchObject({ INSTRUCTIONS: "You are Calypso.\nBe kind.", OPENAI_API_KEY: key, EMBEDDING_API_KEY: key });
    const refusal = refusalOf({ INSTRUCTIONS: "x".repeat(20_001) });
    expect(fieldsOf(refusal)).toEqual(["INSTRUCTIONS"]);
    expect(refusal.message.length).toBeLessThan(400);
  });

  test("names the replacement of a setting that no longer exists", () => {
    const refusal = refusalOf({ SUMMARY_BASE_URL: "http://sums/v1", MEMORY_API_KEY_FILE: file, ROUTER_API_KEY: "" });
    expect(fieldsOf(refusal)).toEqual(["SUMMARY_BASE_URL", "MEMORY_API_KEY_FILE"]);
    expect(refusal.message).toContain("in the file of MODELS, and name the entry in MEMORY_MODEL");
  });

  test("refuses a file beside a value, and a file that cannot be read, without showing the secret", () => {
    const refusal = refusalOf({ API_KEYS_FILE: file, API_KEYS: "other-secret", JWT_SECRET_FILE: "/nowhere/at-all" }, readSettingFiles);
    expect(fieldsOf(refusal)).toEqual(["API_KEYS_FILE", "JWT_SECRET_FILE"]);
    expect(refusal).toMatchObject({ code: "invalid_configuration", message: expect.not.stringMatching(/secret:|other/) });
    expect(refusal.message).toContain("ENOENT");
  });
});
