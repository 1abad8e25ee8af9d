import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { freePort } from "../../servers/postgres-server.ts";
import { killServiceProcesses, spawnService, startServiceProcess } from "../../servers/service-process.ts";

/** A stack trace, or the name of a class of errors. */
const STACK = /^\s+at |node_modules|\.ts:\d|Error:/m;

describe("a service that cannot start", () => {
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    database = await createRealDatabase();
  });
  afterEach(killServiceProcesses);
  afterAll(() => database.drop());

  /** Runs the service to its end and returns what it printed: one clear message, and exit code 1. */
  async function refusal(environment: Record<string, string>): Promise<string> {
    const service = spawnService({ PORT: String(await freePort()), ...environment });
    const code = await service.exited;
    const output = service.output();
    expect({ code, output }).toMatchObject({ code: 1 });
    expect(output).not.toMatch(STACK);
    return output;
  }

  function changedUrl(change: (url: URL) => void): string {
    const url = new URL(database.url);
    change(url);
    return url.href;
  }

  test("names every problem of its configuration at once, and shows no secret", async () => {
    const output = await refusal({
      PORT: "x",
      HOST: "0.0.0.0",
      TURN_LEASE_MS: "5",
      LOG_LEVEL: "loud",
      HISTORY_WINDOW: "-1",
      OPENAI_BASE_URL: "ftp://user:hidden-secret@models",
      DATABASE_URL: "mysql://user:hidden-secret@db/x",
      API_KEYS: "",
    });
    expect(output).toMatch(/^The configuration has 7 problems:$/m);
    expect(output).toMatch(/^ {2}PORT: must be a whole number .*; it is "x"$/m);
    expect(output).toMatch(/^ {2}HOST: "0\.0\.0\.0" can be reached from other machines; set API_KEYS/m);
    expect(output).toMatch(/^ {2}TURN_LEASE_MS: must be between 1000 and .*; it is "5"$/m);
    expect(output).toMatch(/^ {2}LOG_LEVEL: .*it is "loud"$/m);
    expect(output).toMatch(/^ {2}HISTORY_WINDOW: .*it is "-1"$/m);
    expect(output).toMatch(/^ {2}OPENAI_BASE_URL: must be a URL that begins with http/m);
    expect(output).toMatch(/^ {2}DATABASE_URL: must be a URL like postgres:/m);
    expect(output).not.toContain("hidden-secret");
  });

  test("because of keys that are none says what keys look like, without showing them", async () => {
    const output = await refusal({ API_KEYS: "good-long-key:tenant,short:tenant,hidden-secret" });
    expect(output).toMatch(/API_KEYS: must be key:tenant pairs/);
    expect(output).not.toMatch(/good-long-key|hidden-secret/);
  });

  test("because its port is taken names the port and what to do, and starts when it is free", async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    const environment = { DATABASE_URL: database.url, PORT: String(port) };
    const output = await refusal(environment);
    expect(output).toMatch(new RegExp(`PORT ${port}: EADDRINUSE\\. Choose another PORT or stop what uses it`));
    await new Promise((resolve) => other.close(resolve));
    const service = await startServiceProcess(environment);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  });

  test("because another process has its DATA_DIR names the folder, and the other goes on", async () => {
    const { folder, remove } = await createDataFolder({ migrated: false });
    const first = await startServiceProcess({ DATA_DIR: folder });
    const output = await refusal({ DATA_DIR: folder });
    expect(output).toContain(`DATA_DIR "${folder}" is in use by another process`);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    await remove();
  });

  test("because its DATA_DIR is no folder names it", async () => {
    const { folder, remove } = await createDataFolder({ migrated: false });
    const file = path.join(folder, "file");
    await writeFile(file, "");
    expect(await refusal({ DATA_DIR: path.join(file, "data") })).toContain(`DATA_DIR "${path.join(file, "data")}"`);
    await remove();
  });

  test("because the database in its DATA_DIR is of another version names it", async () => {
    const { folder, remove } = await createDataFolder({ migrated: false });
    await mkdir(path.join(folder, "postgres"));
    await writeFile(path.join(folder, "postgres", "PG_VERSION"), "99\n");
    expect(await refusal({ DATA_DIR: folder })).toMatch(new RegExp(`embedded database in "${folder}/postgres" cannot be opened`));
    await remove();
  });

  test("because its Postgres does not answer names it without the password", async () => {
    const port = await freePort();
    const output = await refusal({ DATABASE_URL: `postgres://user:hidden-secret@127.0.0.1:${port}/chat` });
    expect(output).toMatch(new RegExp(`Postgres at 127\\.0\\.0\\.1:${port}/chat cannot be used \\(ECONNREFUSED\\)\\. .*DATABASE_URL`));
    expect(output).not.toContain("hidden-secret");
  });

  test("because its Postgres has no such database names it", async () => {
    const output = await refusal({ DATABASE_URL: changedUrl((url) => (url.pathname = "/no_such_database")) });
    expect(output).toMatch(/\/no_such_database cannot be used \(3D000\)\. .*DATABASE_URL/);
  });

  test("because its Postgres does not know the user says so without the password", async () => {
    const output = await refusal({
      DATABASE_URL: changedUrl((url) => {
        url.username = "nobody";
        url.password = "hidden-secret";
      }),
    });
    expect(output).toMatch(/Postgres at .* cannot be used \((28P01|28000)\)\. .*DATABASE_URL/);
    expect(output).not.toContain("hidden-secret");
  });
});
