import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { type EpisodicMemory, openEpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import type { JobRun, RunningJobs } from "../../../memory/jobs/run-jobs.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { type JobQueue, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { episodeGroupId, ownerKey } from "../../../stores/index-keys.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import { openTestEmbedded } from "../../support/databases/databases.ts";
import { addJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

const PLACE = { tenantId: "tenant", prefix: "travel" };

describe("jobs in a process whose index is switched off", () => {
  let database: Database;
  let queue: JobQueue;
  let jobs: RunningJobs | undefined;
  let runs: JobRun[];
  beforeEach(async () => {
    database = await openTestEmbedded();
    queue = makeJobQueue(database);
  });
  afterEach(async () => {
    await jobs?.stop();
    await database.close();
  });

  const openMemory = async (): Promise<EpisodicMemory> =>
    openEpisodicMemory({ database, store: await openPostgresSearchStore(database), embedder: makeHashedEmbedder({ dimensions: 64 }) });

  /** In place of the process before: its jobs stop. */
  async function runWith(episodicMemory: EpisodicMemory | null): Promise<void> {
    await jobs?.stop();
    runs = [];
    jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory, pollMs: 200, onRun: (run) => runs.push(run) });
  }
  const firstRun = () => waitUntil("a job has run", () => runs[0]);
  const done = () => waitUntil("a job is done", () => runs.some(({ outcome }) => outcome === "done"));
  const counts = () => makeJobOverview(database).count(null);

  /** A conversation of two turns, and its index job. */
  async function storeConversation() {
    const owner = { tenantId: "tenant", userId: uuidv7() };
    const messages = (["user", "assistant"] as const).map((role) => ({ role, content: "Lisbon", createdAt: null, metadata: {} }));
    const { conversationId } = await makeImportStore(database).import({ ...owner, sessionId: "s", messages, jobKinds: ["index_episodes"] });
    return { ...owner, conversationId };
  }
  const countOf = async ({ index }: EpisodicMemory, { tenantId, userId }: { tenantId: string; userId: string }): Promise<number> =>
    (await index.open(await index.name())).count(ownerKey(tenantId, userId));

  test("wait to clear the index of what was erased, say why, and do it once the index is on", async () => {
    const memory = await openMemory();
    await runWith(memory);
    const conversation = await storeConversation();
    await done();
    expect(await countOf(memory, conversation)).toBe(1);
    await runWith(null);
    const groupIds = [episodeGroupId(conversation.conversationId)];
    const ownedBy = ownerKey(conversation.tenantId, conversation.userId);
    await addJobs(queue, { kind: "erase_episodes", id: uuidv7(), ownerKey: ownedBy, groupIds, episodeIds: [] });
    expect(await firstRun()).toMatchObject({ kind: "erase_episodes", outcome: "failed", error: { code: "index_unavailable" } });
    expect(await counts()).toEqual([{ kind: "erase_episodes", state: "retrying", count: 1 }]);
    expect(await countOf(memory, conversation)).toBe(1);
    await runWith(memory);
    await done();
    expect(await countOf(memory, conversation)).toBe(0);
    expect((await counts()).filter(({ kind }) => kind !== "vacuum")).toEqual([]);
  });

  test("end a clearing of the index where there never was any", async () => {
    await runWith(null);
    await addJobs(queue, { kind: "erase_episodes", id: uuidv7(), ownerKey: "k", groupIds: [uuidv7()], episodeIds: [] });
    expect(await firstRun()).toEqual({ kind: "erase_episodes", outcome: "done", ms: expect.any(Number) });
    expect(await counts()).toEqual([]);
  });

  describe("one that brings a document in", () => {
    const add = async () => {
      await makeKnowledgeBaseStore(database).put(PLACE.tenantId, { prefix: PLACE.prefix, description: "Travel", keywords: [] });
      const bytes = new TextEncoder().encode("The limit for a hotel night is 140 euros.");
      return documents().add(PLACE, { title: "Hotels", contentType: "text/plain", externalId: null, metadata: {}, bytes });
    };
    const documents = () => makeDocumentStore(database);
    const status = async () => (await documents().list(PLACE, { limit: 10, after: null })).items[0]?.status;

    test("waits, says why, and does it once the index is on", async () => {
      await runWith(null);
      await add();
      expect(await firstRun()).toMatchObject({ kind: "ingest", outcome: "failed", error: { code: "index_unavailable" } });
      expect(await status()).toBe("pending");
      await runWith(await openMemory());
      await waitUntil("it is indexed", async () => (await status()) === "indexed");
    });

    test("ends with its document", async () => {
      const { id } = await add();
      await documents().remove(PLACE, id);
      await runWith(null);
      expect(await firstRun()).toEqual({ kind: "ingest", outcome: "done", ms: expect.any(Number) });
    });
  });

  test("end without indexing; the next one indexes what was missed", async () => {
    await runWith(null);
    const conversation = await storeConversation();
    expect(await firstRun()).toEqual({ kind: "index_episodes", outcome: "done", ms: expect.any(Number) });
    const memory = await openMemory();
    await runWith(memory);
    await sleep(500); // two looks
    expect(await countOf(memory, conversation)).toBe(0);
    await addJobs(queue, { kind: "index_episodes", ...conversation });
    await done();
    expect(await countOf(memory, conversation)).toBe(1);
  });
});
