import { afterEach, describe, expect, test } from "@jest/globals";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { startPostgresServer } from "../../servers/postgres-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { mountSmallDisk, whyNoSmallDisk } from "./small-disk.ts";
import { waitUntil } from "../../support/wait-until.ts";

const noDisk = await whyNoSmallDisk();
if (noDisk) test.skip(`/readyz with a full disk (skipped: ${noDisk})`, () => undefined);

const releasers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const release of releasers.splice(0).reverse()) await release();
});

async function open(environment: Record<string, string>): Promise<TestService> {
  const service = await openTestService(environment);
  releasers.push(() => service.close());
  return service;
}

const READY = { status: 200, json: { status: "ready", dependencies: { postgres: "up" } } };
const READ_ONLY = { status: 503, json: { status: "not ready", dependencies: { postgres: "read_only" } } };

/** It can be read all the while: memory is there to look at, and no process is restarted for it. */
async function expectReadOnly(service: TestService): Promise<void> {
  expect(await service.get("/readyz")).toMatchObject(READ_ONLY);
  expect((await service.get("/healthz")).status).toBe(200);
  expect((await service.get("/api/v1/conversations?user_id=ada")).status).toBe(200);
  expect((await service.get("/api/v1/status")).json).toMatchObject({ dependencies: { postgres: "read_only" } });
}

(noDisk ? describe.skip : describe)("/readyz with a full disk", () => {
  test("says of a Postgres that cannot write that it is read-only, and is ready again when there is room", async () => {
    const disk = await mountSmallDisk(160);
    releasers.push(() => disk.remove());
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
    await waitUntil("readiness", async () => (await service.get("/readyz")).status === 200);
  }, 60_000);

  test("says of a DATA_DIR without room for the next file of the database that it is read-only", async () => {
    const disk = await mountSmallDisk(200);
    releasers.push(() => disk.remove());
    const service = await open({ DATA_DIR: `${disk.folder}/data` });
    expect(await service.get("/readyz")).toMatchObject(READY);
    await disk.fill(8 * 1024 * 1024);
    await expectReadOnly(service);
    await disk.empty();
    expect(await service.get("/readyz")).toMatchObject(READY);
  }, 60_000);
});

test("/readyz says of a Postgres that was switched to read-only that it is, and a turn is told to come back", async () => {
  const { url, drop } = await createRealDatabase();
  releasers.push(drop);
  const service = await open({ DATABASE_URL: url });
  const database = await openPostgres(url);
  releasers.push(() => database.close());
  const name = new URL(url).pathname.slice(1);
  await database.query({ text: `alter database ${name} set default_transaction_read_only = on` });
  // Connections that are open keep what they began with.
  await database.query({
    text: `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
  });
  await waitUntil("a new connection", async () => (await service.get("/readyz")).status === 503);
  await expectReadOnly(service);
  const { status, json } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "hello" });
  expect({ status, code: json.error.code }).toEqual({ status: 503, code: "storage_unavailable" });
  expect((await callApi(`${service.url}/healthz`)).status).toBe(200);
});
