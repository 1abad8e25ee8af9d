import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { openServiceWithEpisodes, type ServiceWithEpisodes } from "../support/services/service-with-episodes.ts";
import { openTestService, type TestService } from "../support/services/service.ts";
import { script, TIMES, twentyTimes } from "./twenty-times.ts";

describe("twenty times in a row beside a running service", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let service: TestService;
  beforeAll(async () => {
    real = await createRealDatabase();
    service = await openTestService({ DATABASE_URL: real.url });
  });
  afterAll(async () => {
    await service.close();
    await real.drop();
  });

  async function countConnections(): Promise<number> {
    const database = await openPostgres(real.url);
    const counted = "select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    const [row] = await database.query<{ n: number }>({ text: counted }).finally(() => database.close());
    return row?.n ?? 0;
  }

  test("migrate, jobs and audit do their work and leave no connection, and chat goes on with its conversation", async () => {
    const before = await countConnections();
    const environment = { DATABASE_URL: real.url, ENABLE_EPISODIC_MEMORY: "false" };
    await Promise.all([
      twentyTimes([script("migrate")], environment, /: nothing to do\n$/),
      twentyTimes([script("jobs")], environment, /^no jobs\n$|^summarise (waiting|running): 1\n$/),
      twentyTimes([script("audit"), "--user", "nobody"], environment, /^nothing of user "nobody"\n$/),
      twentyTimes([script("chat"), "--url", service.url, "--user", "ada"], {}, /offline model/, "Hello!\n"),
    ]);
    const { json } = await service.get("/api/v1/conversations?user_id=ada");
    expect(json).toMatchObject({ conversations: [{ message_count: 2 * TIMES }] });
    expect(await countConnections()).toBeLessThanOrEqual(Math.max(before, 12));
  }, 240_000);
});

describe("ingest beside a running service with documents", () => {
  let running: ServiceWithEpisodes;
  let documents: string;
  beforeAll(async () => {
    running = await openServiceWithEpisodes();
    documents = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-documents-"));
    await writeFile(path.join(documents, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 140 euros.");
  }, 60_000);
  afterAll(async () => {
    await running.close();
    await rm(documents, { recursive: true });
  });

  test("brings the same folder in twenty times, and there is one document", async () => {
    await twentyTimes([script("ingest"), "handbook", documents, "--url", running.url], {}, /1 documents? in "handbook", 0 failed/);
    expect(await makeKnowledgeClient(running.url).list("handbook")).toEqual([expect.objectContaining({ status: "indexed" })]);
  }, 240_000);
});
