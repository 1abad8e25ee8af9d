import { describe, afterEach, expect, test, beforeEach } from "@jest/globals";
import { parseConfig } from "../../../server/settings/config.ts";
import { failureFacts } from "../../../server/service/failure-facts.ts";
import { createModels } from "../../../server/parts/open-models.ts";
import { AppError } from "../../../errors/app-error.ts";
import { putJson, postJson } from "../../support/clients/api-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { writeModelList } from "../../support/model-list.ts";
import { callOnce, coreMemoryApi, writing } from "../../support/services/service-with-core-memory.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { openMeasures } from "../../../server/parts/open-model-facts.ts";
import type { Statement } from "../../../stores/postgres/database/database.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";

describe("the models of tasks", () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  async function startServer(...given: Parameters<typeof startModelServer>) {
    const server = await startModelServer(...given);
    closing.push(() => server.close());
    return server;
  }
  test("are asked at their own servers with their own names and keys, while answers keep theirs", async () => {
    const summary = await startServer();
    const memory = await startServer();
    const router = await startServer({ other: (_request, response) => response.writeHead(500).end("{}") });
    const running = await openServiceWithModel({
      OPENAI_API_KEY: "key-of-answers",
      MODELS: writeModelList({
        sums: { base_url: summary.url, api_key: "key-of-summaries", headers: { "x-team": "red" } },
        keeps: { base_url: memory.url, model: "keeper:8b" },
        routes: { base_url: router.url, api_key: "key-of-routes" },
        titles: { base_url: summary.url, api_key: "key-of-titles" },
      }),
      SUMMARY_MODEL: "sums",
      MEMORY_MODEL: "keeps",
      ROUTER_MODEL: "routes",
      TITLE_MODEL: "titles",
      ENABLE_CORE_MEMORY: "true",
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      MEMORY_READ_TIMEOUT_MS: "10000",
    });
    closing.push(() => running.close());
    running.model.answer({ tokens: ["A lovely city."] });
    summary.answer({ tokens: ["Ada spoke of Porto and of its bridges."] });
    memory.answer(callOnce(writing("profile", "Lives in Porto.")));
    router.answer({ tokens: [JSON.stringify({ kb_prefix: "general", confidence: 0.9, reason: "talk" })] });
    for (const kb of ["trips", "taxes"]) await putJson(`${running.url}/api/v1/knowledge/${kb}`, { description: `All about ${kb}` });

    const { say, settle, read } = coreMemoryApi(running.url);
    await say("ada", "Let me tell you about the bridges of Porto.");
    const { conversation_id } = await say("ada", "Tell me more about the bridges of Porto.");
    await settle(conversation_id);
    expect(await read("ada")).toMatchObject([{ section: "profile", content: "Lives in Porto." }]);
    const seenBy = ({ seen }: typeof summary) => [...new Set(seen.map(({ body, key }) => `${body.model}, ${key}`))].sort();
    expect([running.model, summary, memory, router].map(seenBy)).toEqual([
      ["test-chat, Bearer key-of-answers"],
      ["sums, Bearer key-of-summaries", "titles, Bearer key-of-titles"],
      ["keeper:8b, undefined"],
      ["routes, Bearer key-of-routes"],
    ]);

    const { status, json } = await running.service.get("/readyz?strict=true");
    const dependencies = { postgres: "up", chat_model: "up", summary_model: "up", memory_model: "up", router_model: "down" };
    expect({ status, json }).toEqual({ status: 200, json: { status: "ready", dependencies } });
    expect((await running.service.get("/api/v1/status")).json).toMatchObject({
      dependencies,
      models: {
        chat: `test-chat (${running.model.url})`,
        summary: `sums (${summary.url})`,
        memory: `keeps (${memory.url})`,
        router: `routes (${router.url})`,
      },
    });
  });
  test("use the server of answers, unless a task has its own server, which then needs no other", () => {
    const shared = createModels(parseConfig({ OPENAI_BASE_URL: "http://answers/v1", SUMMARY_MODEL: "sums" }));
    expect(shared.otherServers).toEqual({});
    expect(shared.descriptions).toMatchObject({ summary: "sums (http://answers/v1)", memory: "gpt-4o-mini (http://answers/v1)" });
    const alone = createModels(parseConfig({ MEMORY_MODEL: "keeps", MODELS: writeModelList({ keeps: { base_url: "http://memory/v1" } }) }));
    expect([alone.chat, alone.summary, alone.router, alone.server]).toEqual([null, null, null, null]);
    expect(alone.memory).not.toBeNull();
    expect(alone.otherServers).toEqual({ memory: { url: "http://memory/v1", apiKey: undefined } });
    expect(alone.descriptions).toMatchObject({ summary: "offline", memory: "keeps (http://memory/v1)" });
  });
  test("name their server in the log of a failed job", () => {
    const MODELS = writeModelList({ sums: { base_url: "http://sums/v1" } });
    const config = parseConfig({ OPENAI_BASE_URL: "http://answers/v1", SUMMARY_MODEL: "sums", MODELS });
    const serverIn = (kind?: string) => failureFacts(new AppError("model_unavailable", "away"), config, kind).server;
    expect([serverIn("summarise"), serverIn("remember"), serverIn()]).toEqual(["http://sums", "http://answers", "http://answers"]);
  });
});

describe("measures of a model's server", () => {
  const postgres = useTestPostgres();
  test("are stored when they are closed", async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const query = async <Row>(statement: Statement): Promise<Row[]> => {
      if (statement.text.includes("insert")) await sleep(300);
      return postgres.query<Row>(statement);
    };
    const measures = await openMeasures({ ...postgres, query }, onError);
    measures.learned.learn("small", 4_096, { isTold: true });
    await measures.close();
    expect((await openMeasures(postgres, onError)).learned.of("small")).toBe(4_096);
    expect(errors).toEqual([]);
  });
});

describe("a service with the embedded database", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-memory-"));
  });
  afterEach(async () => {
    await killServiceProcesses();
    await rm(folder, { recursive: true, force: true });
  });
  /** The most that the process has ever had in memory, in MiB. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
  const peakMiB = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  // Optimizing Postgres' parser alone takes 600 MiB.
  test("makes its database, starts and answers with less than 600 MiB", async () => {
    // However slow the machine, the layers are waited for.
    const service = await startServiceProcess({ DATA_DIR: folder, MEMORY_READ_TIMEOUT_MS: "30000" });
    for (const message of ["My boat is called Calypso.", "What is my boat called?"]) {
      const { status, json } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "first", message });
      expect({ status, ...json }).toMatchObject({ status: 200, completed: true, degraded: [] });
    }
    expect(peakMiB(service.pid)).toBeLessThan(600);
  });
});

test("the model of answers may be an entry of MODELS with its own server, which then does every task", () => {
  const MODELS = writeModelList({ large: { base_url: "http://large/v1", api_key: "key-of-large", model: "qwen3:235b" } });
  const models = createModels(parseConfig({ CHAT_MODEL: "large", MODELS }));
  expect(models.server).toMatchObject({ url: "http://large/v1", apiKey: "key-of-large" });
  expect(models.otherServers).toEqual({});
  expect(models.descriptions).toMatchObject({ summary: "large (http://large/v1)", memory: "large (http://large/v1)" });
  expect(models.choose({ model: null, agent: null })).toMatchObject([{ name: "large", model: { model: "qwen3:235b" } }]);
});
