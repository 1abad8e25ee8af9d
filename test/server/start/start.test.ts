import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Stands in every text that a log at info must not hold. */
const MARKER = "xyzzy-private-words";

describe("a service that starts", () => {
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    database = await createRealDatabase();
  });
  afterEach(killServiceProcesses);
  afterAll(() => database.drop());

  /** The JSON lines of its log. */
  const logLines = (service: ServiceProcess): Record<string, unknown>[] =>
    service
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("on nothing but a folder says what it uses, and its curl line works as it stands", async () => {
    const { folder, remove } = await createDataFolder();
    const service = await startServiceProcess({ DATA_DIR: folder });
    await waitUntil("the curl line", () => service.output().includes("curl"));
    const [line] = logLines(service);
    const database = `embedded PGlite in ${folder}`;
    const episodic = `episodic (built-in-hashed-1, ${database} with pgvector and pg_textsearch)`;
    const uses = { url: service.url, database, model: "offline", layers: ["window", "summary", "core memory", episodic] };
    expect(line).toMatchObject({ level: 30, ...uses });
    for (const part of [uses.url, uses.database, uses.model, `layers: window, summary, core memory, ${episodic}`])
      expect(line?.["msg"]).toContain(part);

    const curl = /curl -N (\S+) -H 'content-type: application\/json' -d '(.*)'$/m.exec(service.output());
    const { events } = await postTurn(curl?.[1] ?? "", curl?.[2] ?? "", { path: "" });
    expect(contentOf(events, "done").answer).toContain("offline model");
    service.kill("SIGTERM");
    await service.exited; // it may still be indexing the turn
    await remove();
  });

  test("on a real Postgres and a model's server names both, without a password or a key", async () => {
    const withSecret = new URL(database.url);
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      ENABLE_EPISODIC_MEMORY: "false",
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_API_KEY: "secret-model-key",
      API_KEYS: "secret-service-key:tenant",
      CHAT_MODEL: "some-model",
    });
    const [line] = logLines(service);
    expect(line).toMatchObject({
      database: `Postgres at ${withSecret.host}${withSecret.pathname}`,
      model: "some-model at http://127.0.0.1:9/v1",
    });
    expect(service.output()).not.toMatch(/secret-(model|service)-key/);
    expect(service.output()).not.toContain(`:${withSecret.password}@`);
  });

  test("logs its turns at info without a word of what was said, whatever happens", async () => {
    const model = await startModelServer();
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      ENABLE_EPISODIC_MEMORY: "false",
      OPENAI_BASE_URL: model.url,
      MODEL_IDLE_TIMEOUT_MS: "300",
    });
    const ask = (session: string): object => ({ user_id: "ada", session_id: session, message: `${MARKER} asked` });
    const answer = { tokens: [`${MARKER} `, "answered"] };
    model.answer(answer);
    const { headers, events } = await postTurn(service.url, ask("good"));
    const done = contentOf(events, "done");
    for (const script of [
      { status: 401 },
      { ...answer, ending: "cut" as const },
      { ...answer, ending: "hang" as const },
      { ...answer, malformed: true },
    ]) {
      model.answer(script);
      await postTurn(service.url, ask(JSON.stringify(script)));
      await postJson(`${service.url}/api/v1/chat`, ask(JSON.stringify(script)));
    }
    model.answer({ ...answer, betweenMs: 100 });
    await postTurn(service.url, ask("leaves"), { onEvent: (_event, sofar) => (sofar.length > 1 ? "leave" : undefined) });
    await postJson(`${service.url}/api/v1/chat`, `{"user_id": "ada", "message": "${MARKER}`);
    await postJson(`${service.url}/api/v1/chat`, { ...ask("refused"), [MARKER]: MARKER });

    const turns = await waitUntil("ten turns in the log", () => {
      const lines = logLines(service).filter((line) => "turn_id" in line);
      return lines.length === 10 && lines;
    });
    expect(turns[0]).toMatchObject({
      level: 30,
      turn_id: headers.get("x-turn-id"),
      conversation_id: done.conversation_id,
      tokens: 102,
      degraded: [],
      msg: "turn done",
    });
    expect(turns[1]).toMatchObject({ level: 40, code: "model_refused", msg: "turn failed" });
    expect(service.output()).not.toContain(MARKER);
    expect(service.output()).not.toContain("secret words");
    await model.close();
  });
});
