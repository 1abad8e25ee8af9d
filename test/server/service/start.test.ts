import { writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { afterEach, expect, test, afterAll, beforeAll, describe } from "@jest/globals";
import { OFFLINE_REMARK } from "../../../server/service/offline-remark.ts";
import { curlHint } from "../../../server/service/run-service.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess, spawnService } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { createServer } from "node:net";
import { freePort } from "../../servers/free-port.ts";

describe("the start of a service", () => {
  /** Stands in every text that a log at info must not hold. */
  const MARKER = "xyzzy-private-words";
  afterEach(killServiceProcesses);
  /** The JSON lines of its log. */
  function logLines(service: ServiceProcess): Record<string, unknown>[] {
    const lines = service.output().split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
  }
  test("with only a folder shows what the service uses, and prints a curl line that works", async () => {
    const { folder, remove } = await createDataFolder();
    const service = await startServiceProcess({ DATA_DIR: folder });
    // Two pipes: either may come first.
    await waitUntil("its log and the curl line", () => logLines(service).length > 0 && service.output().includes("curl"));
    const [line] = logLines(service);
    const database = `embedded PGlite in ${folder}`;
    const episodic = `episodic (built-in-hashed-1, ${database} with pgvector)`;
    const uses = { url: service.url, database, model: "offline", layers: ["window", "summary", "core memory", episodic] };
    expect(line).toMatchObject({ level: 30, ...uses });
    for (const part of [uses.url, database, "offline", `layers: ${uses.layers.join(", ")}`]) expect(line?.["msg"]).toContain(part);

    const curl = /curl -N (\S+) -H 'content-type: application\/json' -d '(.*)'$/m.exec(service.output());
    const { events } = await postTurn(curl?.[1] ?? "", curl?.[2] ?? "", { path: "" });
    expect(contentOf(events, "done").answer).toBe("This is the offline model.");
    expect(service.output().split(OFFLINE_REMARK)).toHaveLength(2);
    service.kill("SIGTERM");
    await service.exited; // it may still be indexing the turn
    await remove();
  });
  test("warns of missing things that its agents name and a tenant can still add", async () => {
    const { folder, remove } = await createDataFolder();
    const spec = { description: "Helps", tools: ["mcp__docs__*"], skills: ["trips"], subagents: ["clerk", "porter"], handoffs: ["cook"] };
    await writeFile(path.join(folder, "boss.json"), JSON.stringify(spec));
    await writeFile(path.join(folder, "clerk.json"), JSON.stringify({ description: "Writes" }));
    const database = await createRealDatabase();
    const service = await startServiceProcess({ DATABASE_URL: database.url, AGENTS_DIR: folder });
    const warned = logLines(service).filter(({ level }) => level === 40);
    expect(warned.map(({ agent, problem }) => [agent, String(problem).replace(/;.*/, "")])).toEqual([
      ["boss", 'tools.0: "mcp__docs__*" names no MCP server that there is'],
      ["boss", 'skills.0: there is no skill "trips"'],
      ["boss", 'subagents: there is no agent "porter"'],
      ["boss", 'handoffs: there is no agent "cook"'],
    ]);
    await killServiceProcesses();
    await Promise.all([remove(), database.drop()]);
  });
  test("prints a curl line with a key when one is needed, and with an address that can be reached", () => {
    expect(curlHint("http://0.0.0.0:8000", true)).toMatch(/^curl -N http:\/\/127\.0\.0\.1:8000\S* .*-H 'authorization: Bearer YOUR_KEY'/);
    expect(curlHint("http://[::]:8000", true)).toContain("http://[::1]:8000");
  });
  test("on Postgres with a model's server logs its parts and its turns, without a secret or a word of the user", async () => {
    const [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      ENABLE_EPISODIC_MEMORY: "false",
      MODEL_IDLE_TIMEOUT_MS: "300",
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "secret-model-key",
      CHAT_MODEL: "some-model",
      API_KEYS: "secret-service-key:tenant",
    });
    const { host, pathname, password } = new URL(database.url);
    const uses = { database: `Postgres at ${host}${pathname}`, model: `some-model (${model.url})` };
    expect(logLines(service)[0]).toMatchObject(uses);

    const headers = { authorization: "Bearer secret-service-key" };
    const ask = (session: string): object => ({ user_id: "ada", session_id: session, message: `${MARKER} asked` });
    const post = (body: unknown) => postJson(`${service.url}/api/v1/chat`, body, headers);
    const answer = { tokens: [`${MARKER} `, "answered"] };
    model.answer(answer);
    const good = await postTurn(service.url, ask("good"), { headers });
    const { conversation_id } = contentOf(good.events, "done");
    const endings = [{ ending: "cut" as const }, { ending: "hang" as const }, { malformed: true }];
    for (const script of [{ status: 401 }, ...endings.map((ending) => ({ ...answer, ...ending }))]) {
      model.answer(script);
      await postTurn(service.url, ask(JSON.stringify(script)), { headers });
      await post(ask(JSON.stringify(script)));
    }
    model.answer({ ...answer, betweenMs: 100 });
    await postTurn(service.url, ask("leaves"), { headers, onEvent: (_event, sofar) => (sofar.length > 1 ? "leave" : undefined) });
    await post(`{"user_id": "ada", "message": "${MARKER}`);
    await post({ ...ask("refused"), [MARKER]: MARKER });

    const turns = await waitUntil("ten turns in the log", () => {
      const lines = logLines(service).filter((line) => "turn_id" in line);
      return lines.length === 10 && lines;
    });
    const done = { turn_id: good.headers.get("x-turn-id"), conversation_id, tokens: 102, degraded: [] };
    expect(turns[0]).toMatchObject({ level: 30, msg: "turn done", ...done });
    expect(turns[1]).toMatchObject({ level: 40, code: "model_unauthorized", msg: "turn failed" });
    expect(turns[1]).toMatchObject({ causes: [{ said: "secret words of the model server", status: 401 }] });
    for (const secret of [MARKER, "secret-model-key", "secret-service-key", `:${password}@`])
      expect(service.output()).not.toContain(secret);
    await killServiceProcesses();
    await model.close();
    await database.drop();
  });
});

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

  test("because its port is taken names the port and what to do, and starts when the port is free", async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    const environment = { DATABASE_URL: database.url, PORT: String(port) };
    expect(await refusal(environment)).toMatch(new RegExp(`PORT ${port}: EADDRINUSE\\. Choose another PORT or stop what uses it`));
    await new Promise((resolve) => other.close(resolve));
    const service = await startServiceProcess(environment);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  });

  test("because another process uses its DATA_DIR names the folder, and the other process goes on", async () => {
    const { folder: DATA_DIR, remove } = await createDataFolder();
    const first = await startServiceProcess({ DATA_DIR });
    expect(await refusal({ DATA_DIR })).toContain(`DATA_DIR "${DATA_DIR}" is in use by another process`);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    await remove();
  });

  test("because its DATA_DIR is no folder, or has a database of another version, names this folder", async () => {
    const file = path.join(data.folder, "file");
    await writeFile(file, "");
    expect(await refusal({ DATA_DIR: path.join(file, "data") })).toContain(`DATA_DIR "${path.join(file, "data")}"`);
    const postgres = path.join(data.folder, "other", "postgres");
    await mkdir(postgres, { recursive: true });
    await writeFile(path.join(postgres, "PG_VERSION"), "99\n");
    expect(await refusal({ DATA_DIR: path.dirname(postgres) })).toContain(`embedded database in "${postgres}" cannot be opened`);
  });

  test.each([
    ["does not exist", null, /there is no file "/],
    ["does not parse", "export default {\n  prices: async () => {\n};", /cannot be loaded: Unexpected token .+ \(`node --check`/],
    ["throws", "\nthrow new RangeError('no price list');", /cannot be loaded: no price list \(line 2\)/],
    ["needs a package that is not installed", "import 'no-such-package';", /cannot be loaded: Cannot find package 'no-such-package'/],
    ["exports nothing by default", "export const prices = () => {};", /has no handlers\. Its default export must be an object/],
    ["exports an empty object", "export default {};", /has no handlers/],
    ["has a handler with an impossible name", "export default { 'Price list': () => {} };", /a handler for "Price list", which cannot be/],
    ["has something else for a handler", "export default { prices: '7.50' };", /has no function for "prices"/],
  ])("because its module of handlers %s names the file and the fault", async (_, text, says) => {
    const file = path.join(data.folder, `handlers-${crypto.randomUUID()}.mjs`);
    if (text !== null) await writeFile(file, text);
    const output = await refusal({ DATA_DIR: "memory://", KB_HANDLERS: file });
    expect(output).toMatch(/^KB_HANDLERS: /m);
    expect(output).toContain(`"${file}"`);
    expect(output).toMatch(says);
  });

  test("because an agent's file has an unknown model or tool names the file and the field", async () => {
    const folder = path.join(data.folder, `agents-${crypto.randomUUID()}`);
    await mkdir(folder);
    const spec = { description: "Helps", model: "no-such-model", tools: ["memory_*", "memory_serch"] };
    await writeFile(path.join(folder, "clerk.json"), JSON.stringify(spec));
    const output = await refusal({
      DATABASE_URL: database.url,
      ENABLE_EPISODIC_MEMORY: "true",
      AGENTS_DIR: folder,
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      CHAT_MODEL: "known",
    });
    expect(output).toContain('AGENTS_DIR: clerk.json: model: the service does not know "no-such-model"; it knows known');
    expect(output).toMatch(/tools\.1: there is no tool "memory_serch"; there are: .*memory_search/);
  });

  test("because its Postgres, database or user is missing names Postgres without the password", async () => {
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
