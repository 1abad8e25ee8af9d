import { execFile } from "node:child_process";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "@jest/globals";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { startEmbeddingServer } from "../../servers/embedding-server.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { freePort } from "../../servers/free-port.ts";
import { startPostgresServer } from "../../servers/postgres-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

const run = promisify(execFile);
const releasers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const release of releasers.splice(0).reverse()) await release();
});

/** A file system in memory that can be filled. */
interface SmallDisk {
  folder: string;
  /** Leaves this many bytes free. */
  fill(leave?: number): Promise<void>;
  empty(): Promise<void>;
}

async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-disk-"));
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=777`, "tmpfs", folder]);
  releasers.push(() => run("umount", [folder]).then(() => rm(folder, { recursive: true })));
  const filler = path.join(folder, "filler");
  return {
    folder,
    async fill(leave = 0) {
      const { bavail, bsize } = await statfs(folder);
      await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - leave), 1));
    },
    empty: () => rm(filler, { force: true }),
  };
}

const canMount = await mountSmallDisk(1).then(
  () =>
    releasers
      .pop()?.()
      .then(() => true),
  () => false,
);
if (!canMount) test.skip("/readyz with a full disk (skipped: this user may not mount a file system)", () => undefined);

async function open(environment: Record<string, string> = {}): Promise<TestService> {
  const service = await openTestService(environment);
  releasers.push(() => service.close());
  return service;
}

const READY = { status: 200, json: { status: "ready", dependencies: { postgres: "up" } } };
const READ_ONLY = { status: 503, json: { status: "not ready", dependencies: { postgres: "read_only" } } };
const untilReady = (service: TestService) =>
  waitUntil("readiness", async () => {
    const answer = await service.get("/readyz");
    return answer.status === 200 && answer;
  });

/** It can be read all the while: memory is there to look at, and no process is restarted for it. */
async function expectReadOnly(service: TestService): Promise<void> {
  expect(await service.get("/readyz")).toMatchObject(READ_ONLY);
  expect((await service.get("/healthz")).status).toBe(200);
  expect((await service.get("/api/v1/conversations?user_id=ada")).status).toBe(200);
  expect((await service.get("/api/v1/status")).json).toMatchObject({ dependencies: { postgres: "read_only" } });
}

(canMount ? describe : describe.skip)("/readyz with a full disk", () => {
  test("reports a Postgres that cannot write as read-only, and is ready again when there is room", async () => {
    const disk = await mountSmallDisk(160);
    const server = await startPostgresServer(disk.folder);
    releasers.push(() => server.stop());
    const database = await openPostgres(server.url);
    await migrate(database);
    await database.close();
    const service = await open({ DATABASE_URL: server.url });
    expect(await service.get("/readyz")).toMatchObject(READY);
    await disk.fill();
    await expectReadOnly(service);
    await disk.empty();
    await untilReady(service);
  });

  test("reports a DATA_DIR without room for the next file of the database as read-only", async () => {
    const disk = await mountSmallDisk(200);
    const { folder } = await createDataFolder({ within: disk.folder });
    const service = await open({ DATA_DIR: folder });
    expect(await service.get("/readyz")).toMatchObject(READY);
    const freeBytes = async () =>
      (await readMetrics(service.url)).samples.get('conversation_graph_data_folder_free_bytes{folder="DATA_DIR"}');
    expect(await freeBytes()).toBeGreaterThan(16 * 1024 * 1024);
    await disk.fill(8 * 1024 * 1024);
    await expectReadOnly(service);
    expect(await freeBytes()).toBeLessThan(16 * 1024 * 1024);
    await disk.empty();
    expect(await service.get("/readyz")).toMatchObject(READY);
  });
});

describe("/readyz", () => {
  test("reports a read-only Postgres, while a turn is told to come back", async () => {
    const { url, drop } = await createRealDatabase();
    releasers.push(drop);
    const service = await open({ DATABASE_URL: url });
    const database = await openPostgres(url);
    releasers.push(() => database.close());
    const name = new URL(url).pathname.slice(1);
    await database.query({ text: `alter database ${name} set default_transaction_read_only = on` });
    // Connections that are open keep what they began with.
    const others = `datname = '${name}' and pid <> pg_backend_pid()`;
    await database.query({ text: `select pg_terminate_backend(pid) from pg_stat_activity where ${others}` });
    await waitUntil("a new connection", async () => {
      const { json } = await service.get("/readyz");
      return (json as { dependencies?: { postgres: string } }).dependencies?.postgres === "read_only";
    });
    await expectReadOnly(service);
    const turn = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "hello" });
    expect(turn).toMatchObject({ status: 503, json: { error: { code: "storage_unavailable" } } });
  });

  test("names a model and an embedder that are down, and answers 503 for them only in strict mode", async () => {
    const port = await freePort();
    const embedder = { ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_DIMENSIONS: "8" };
    const service = await open({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1/`, ...embedder });
    const dependencies = { postgres: "up", chat_model: "down", embedder: "down", episode_index: "up" };
    expect(await service.get("/readyz")).toMatchObject({ status: 200, json: { status: "ready", dependencies } });
    expect(await service.get("/readyz?strict=true")).toMatchObject({ status: 503, json: { status: "not ready", dependencies } });
    expect(await service.get("/api/v1/health")).toMatchObject({ status: 200, json: { status: "ready", dependencies } });
    expect(await service.get("/api/v1/health?strict=true")).toMatchObject({ status: 503, json: { status: "not ready", dependencies } });
    const { samples } = await readMetrics(service.url);
    const stateOf = (dependency: string, state: string) =>
      samples.get(`conversation_graph_dependency_state{dependency="${dependency}",state="${state}"}`);
    expect([stateOf("chat_model", "down"), stateOf("chat_model", "up"), stateOf("postgres", "up")]).toEqual([1, 0, 1]);
    expect(await service.get("/readyz?strict=yes")).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
    expect((await service.get("/healthz")).status).toBe(200);
    const model = await startModelServer({ port });
    releasers.push(() => model.close());
    const up = await waitUntil("readiness", async () => {
      const answer = await service.get("/readyz?strict=true");
      return answer.status === 200 && answer;
    });
    expect(up.json).toMatchObject({ status: "ready", dependencies: { chat_model: "up" } });
  });

  test("reports an embedder as down while its server has no embeddings", async () => {
    const server = await startEmbeddingServer();
    releasers.push(() => server.close());
    server.answer({ status: 501 });
    const settings = { EMBEDDING_BASE_URL: server.url, EMBEDDING_DIMENSIONS: "4", ENABLE_EPISODIC_MEMORY: "true" };
    const service = await open(settings);
    expect(await service.get("/readyz")).toMatchObject({ status: 200, json: { dependencies: { embedder: "down" } } });
    server.answer({});
    await waitUntil("the embedder", async () => {
      const { json } = await service.get("/readyz");
      return (json as { dependencies?: { embedder: string } }).dependencies?.embedder === "up";
    });
    const asked = server.seen.length;
    await service.get("/readyz");
    expect(server.seen).toHaveLength(asked);
  });

  test("does not ask a model's server when the offline model answers", async () => {
    expect((await (await open()).get("/readyz")).json).toEqual(READY.json);
  });
});
