import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { freePort } from "../../servers/free-port.ts";
import { killServiceProcesses, spawnService, startServiceProcess } from "../../servers/service-process.ts";

/** A stack trace, or the name of a class of errors. */
const STACK = /^\s+at |node_modules|\.ts:\d|Error:/m;

describe("a service that cannot start", () => {
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let data: Awaited<ReturnType<typeof createDataFolder>>;
  beforeAll(async () => {
    [database, data] = await Promise.all([createRealDatabase(), createDataFolder({ migrated: false })]);
  });
  afterEach(killServiceProcesses);
  afterAll(() => Promise.all([database.drop(), data.remove()]));

  /** Runs the service to its end and returns what it printed: one clear message without secrets, and exit code 1. */
  async function refusal(environment: Record<string, string>): Promise<string> {
    const service = spawnService({ PORT: String(await freePort()), ...environment });
    const code = await service.exited;
    const output = service.output();
    expect({ code, output }).toMatchObject({ code: 1 });
    expect(output).not.toMatch(STACK);
    expect(output).not.toMatch(/hidden-secret|good-long-key/);
    return output;
  }

  const changedUrl = (changes: Partial<URL>): string => Object.assign(new URL(database.url), changes).href;

  test("names every problem of its configuration at once", async () => {
    const output = await refusal({
      PORT: "x",
      HOST: "0.0.0.0",
      OPENAI_BASE_URL: "ftp://user:hidden-secret@models",
      DATABASE_URL: "mysql://user:hidden-secret@db/x",
    });
    expect(output).toMatch(/^The configuration has 4 problems:$/m);
    expect(output).toMatch(/^ {2}PORT: must be a whole number .*; it is "x"$/m);
    expect(output).toMatch(/^ {2}HOST: "0\.0\.0\.0" can be reached from other machines; set API_KEYS/m);
    expect(output).toMatch(/^ {2}OPENAI_BASE_URL: must be a URL that begins with http/m);
    expect(output).toMatch(/^ {2}DATABASE_URL: must be a URL like postgres:/m);
  });

  test("because its port is taken names the port and what to do, and starts when it is free", async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    const environment = { DATABASE_URL: database.url, PORT: String(port) };
    expect(await refusal(environment)).toMatch(new RegExp(`PORT ${port}: EADDRINUSE\\. Choose another PORT or stop what uses it`));
    await new Promise((resolve) => other.close(resolve));
    const service = await startServiceProcess(environment);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  });

  test("because another process has its DATA_DIR names the folder, and the other goes on", async () => {
    const DATA_DIR = path.join(data.folder, "used");
    const first = await startServiceProcess({ DATA_DIR });
    expect(await refusal({ DATA_DIR })).toContain(`DATA_DIR "${DATA_DIR}" is in use by another process`);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
  });

  test("because its DATA_DIR is no folder, or has a database of another version, names it", async () => {
    const file = path.join(data.folder, "file");
    await writeFile(file, "");
    expect(await refusal({ DATA_DIR: path.join(file, "data") })).toContain(`DATA_DIR "${path.join(file, "data")}"`);
    const postgres = path.join(data.folder, "other", "postgres");
    await mkdir(postgres, { recursive: true });
    await writeFile(path.join(postgres, "PG_VERSION"), "99\n");
    expect(await refusal({ DATA_DIR: path.dirname(postgres) })).toContain(`embedded database in "${postgres}" cannot be opened`);
  });

  test.each([
    ["is not there", null, /there is no file "/],
    ["does not parse", "export default {\n  prices: async () => {\n};", /cannot be loaded: Unexpected token .+ \(`node --check`/],
    ["throws", "\nthrow new RangeError('no price list');", /cannot be loaded: no price list \(line 2\)/],
    ["needs what is not installed", "import 'no-such-package';", /cannot be loaded: Cannot find package 'no-such-package'/],
    ["exports nothing by default", "export const prices = () => {};", /has no handlers\. Its default export must be an object/],
    ["exports an empty object", "export default {};", /has no handlers/],
    ["has a handler for no possible name", "export default { 'Price list': () => {} };", /a handler for "Price list", which cannot be/],
    ["has something else for a handler", "export default { prices: '7.50' };", /has no function for "prices"/],
  ])("because its module of handlers %s, says so", async (_, text, says) => {
    const file = path.join(data.folder, `handlers-${crypto.randomUUID()}.mjs`);
    if (text !== null) await writeFile(file, text);
    const output = await refusal({ DATA_DIR: "memory://", KB_HANDLERS: file });
    expect(output).toMatch(/^KB_HANDLERS: /m);
    expect(output).toContain(`"${file}"`);
    expect(output).toMatch(says);
  });

  test("because an agent's file names a model or a tool that there is not, says which file and field", async () => {
    const folder = path.join(data.folder, `agents-${crypto.randomUUID()}`);
    await mkdir(folder);
    const spec = { description: "Helps", model: "no-such-model", tools: ["memory_*", "memory_serch"] };
    await writeFile(path.join(folder, "clerk.json"), JSON.stringify(spec));
    const output = await refusal({
      DATA_DIR: "memory://",
      AGENTS_DIR: folder,
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      CHAT_MODEL: "known",
    });
    expect(output).toContain('AGENTS_DIR: clerk.json: model: the service does not know "no-such-model"; it knows known');
    expect(output).toMatch(/tools\.1: there is no tool "memory_serch"; there are: .*memory_search/);
  });

  test("because of its Postgres names it without the password: it does not answer, lacks the database, or the user", async () => {
    const port = await freePort();
    const refused: [url: string, says: RegExp][] = [
      [
        `postgres://user:hidden-secret@127.0.0.1:${port}/chat`,
        new RegExp(`127\\.0\\.0\\.1:${port}/chat cannot be used \\(ECONNREFUSED\\)`),
      ],
      [changedUrl({ pathname: "/no_such_database" }), /\/no_such_database cannot be used \(3D000\)/],
      [changedUrl({ username: "nobody", password: "hidden-secret" }), /Postgres at .* cannot be used \((28P01|28000)\)/],
    ];
    for (const [url, says] of refused) {
      const output = await refusal({ DATABASE_URL: url });
      expect(output).toMatch(says);
      expect(output).toMatch(/Postgres at .*\. .*DATABASE_URL/);
    }
  });
});
