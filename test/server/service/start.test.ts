import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { OFFLINE_REMARK } from "../../../server/service/offline-remark.ts";
import { curlHint } from "../../../server/service/run-service.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Stands in every text that a log at info must not hold. */
const MARKER = "xyzzy-private-words";

afterEach(killServiceProcesses);

/** The JSON lines of its log. */
function logLines(service: ServiceProcess): Record<string, unknown>[] {
  const lines = service.output().split("\n");
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a service that starts on nothing but a folder says what it uses, and its curl line works as it stands", async () => {
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

test("a service warns of what its agents name and a tenant can still add", async () => {
  const { folder, remove } = await createDataFolder();
  const spec = { description: "Helps", tools: ["mcp__docs__*"], skills: ["trips"], subagents: ["clerk", "porter"] };
  await writeFile(path.join(folder, "boss.json"), JSON.stringify(spec));
  await writeFile(path.join(folder, "clerk.json"), JSON.stringify({ description: "Writes" }));
  const service = await startServiceProcess({ DATA_DIR: "memory://", AGENTS_DIR: folder });
  const warned = logLines(service).filter(({ level }) => level === 40);
  expect(warned.map(({ agent, problem }) => [agent, String(problem).replace(/;.*/, "")])).toEqual([
    ["boss", 'tools.0: "mcp__docs__*" names no MCP server that there is'],
    ["boss", 'skills.0: there is no skill "trips"'],
    ["boss", 'subagents: there is no agent "porter"'],
  ]);
  service.kill("SIGTERM");
  await service.exited;
  await remove();
});

test("the curl line asks for a key when one is needed, and names an address that can be reached", () => {
  expect(curlHint("http://0.0.0.0:8000", true)).toMatch(/^curl -N http:\/\/127\.0\.0\.1:8000\S* .*-H 'authorization: Bearer YOUR_KEY'/);
  expect(curlHint("http://[::]:8000", true)).toContain("http://[::1]:8000");
});

test("a service on Postgres with a model's server logs what it uses and its turns, without a secret or a word of what was said", async () => {
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
  for (const secret of [MARKER, "secret-model-key", "secret-service-key", `:${password}@`]) expect(service.output()).not.toContain(secret);
  await killServiceProcesses();
  await model.close();
  await database.drop();
});
