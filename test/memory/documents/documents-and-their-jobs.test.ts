import { beforeEach, describe, expect, test, afterAll, beforeAll } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeIngestDocument, makeIngestWithoutIndex } from "../../../memory/documents/ingest-document.ts";
import type { DocumentLimits } from "../../../memory/documents/parsing/document.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeChunkStore } from "../../../stores/postgres/knowledge/chunk-store.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openEpisodeIndex } from "../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { RunJobsParts } from "../../../memory/jobs/run-jobs.ts";
import { useTestEmbedded, openTestEmbedded } from "../../support/databases/databases.ts";
import { makeRecordingEmbedder } from "../../support/samples/recording-embedder.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { takeOver, useRunners } from "../jobs/job-runners.ts";
import { openEpisodicMemory, type EpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { restoreExport } from "../../../stores/postgres/export/restore-export.ts";
import { createExportFolder, rowLines, type ExportFolder } from "../../stores/postgres/export/export-files.ts";
import { rememberConversation } from "../../support/samples/user-with-memory.ts";

const PLACE = { tenantId: "acme", prefix: "travel" };
/** No thread begins so soon. */
const TOO_SHORT = { timeoutMs: 1 };
describe("a document whose job gave up", () => {
  const database = useTestEmbedded();
  const [queue, chunks, documents] = [makeJobQueue(database), makeChunkStore(database), makeDocumentStore(database)];
  const startRunner = useRunners();
  const embedder = makeRecordingEmbedder();
  beforeEach(() => makeKnowledgeBaseStore(database).put(PLACE.tenantId, { prefix: PLACE.prefix, description: "Travel", keywords: [] }));

  async function start(limits: Partial<DocumentLimits> = {}) {
    const index = (await openEpisodeIndex({ database, store: await openPostgresSearchStore(database), embedder })).chunks;
    const handlers = { ingest: makeIngestDocument({ chunks, index, embedder, limits }) } as unknown as RunJobsParts["handlers"];
    return startRunner(queue, {}, { handlers });
  }
  const add = () =>
    documents.add(PLACE, {
      title: "note.md",
      contentType: "text/markdown",
      bytes: Buffer.from("# Ferries\n\nAt noon."),
      externalId: null,
      metadata: {},
    });
  const find = (id: string) => documents.find(PLACE, id);

  /** Lets a day pass for its job. */
  const ageJob = (days = 2) =>
    waitUntil("the job is a day old", async () => {
      const text = `update pgboss.job set created_on = now() - interval '${days} days', start_after = now() where state = 'retry' returning id`;
      return (await database.query({ text })).length > 0;
    });
  /** Its next tries are due at once. */
  const untilFailed = (id: string) =>
    waitUntil("the last try", async () => {
      await database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
      return (await find(id))?.status === "failed";
    });

  test("for want of processor time is tried again, then fails with advice, until somebody has it read again", async () => {
    const { id } = await add();
    const late = await start(TOO_SHORT);
    await waitUntil("the first try", () => late.runs.length > 0);
    expect(late.runs[0]).toMatchObject({ outcome: "failed", error: { code: "overloaded" } });
    expect(await find(id)).toMatchObject({ status: "pending", error: null, canReadAgain: false });

    await ageJob();
    await untilFailed(id);
    await late.stop();
    const failed = await find(id);
    expect(failed).toMatchObject({ status: "failed", canReadAgain: true });
    expect(failed?.error).toMatch(/"note\.md" was not read within .* busy\. Let it be read again/);
    expect(await makeJobOverview(database).count(null)).toEqual([]);

    const inTime = await start();
    expect(await documents.readAgain(PLACE, id)).toMatchObject({ status: "pending", error: null, canReadAgain: false });
    await waitUntil("it is indexed", async () => (await find(id))?.status === "indexed");
    expect(await documents.readAgain(PLACE, id)).toMatchObject({ status: "indexed" });
    expect(inTime.errors).toEqual([]);
  });

  test("because its pieces were not embedded fails with the reason, and goes on with them when somebody has it read again", async () => {
    const { id } = await add();
    embedder.fail(new AppError("embedder_unavailable", "The embedder is away."));
    const failing = await start();
    await waitUntil("a try", () => failing.runs.some(({ error }) => error?.code === "embedder_unavailable"));
    expect(await find(id)).toMatchObject({ status: "pending", chunkCount: 1 });
    await ageJob();
    await untilFailed(id);
    await failing.stop();
    expect(await find(id)).toMatchObject({
      status: "failed",
      error: "It was tried for a day. The last time: The embedder is away.",
      canReadAgain: true,
    });
    expect(await makeJobOverview(database).count(null)).toEqual([]);

    embedder.fail(null);
    await start();
    expect(await documents.readAgain(PLACE, id)).toMatchObject({ status: "pending", error: null });
    await waitUntil("it is indexed", async () => (await find(id))?.status === "indexed");
  });

  test("because its processes died fails like any other, even when one dies in the last try", async () => {
    const { id } = await add();
    const die = async (times: number): Promise<void> => {
      for (let death = 0; death < times; death++) {
        for (const claimed of await queue.claim(1)) if (claimed.unended > 0) await queue.keepUnended(claimed);
        await takeOver(database);
      }
    };
    await die(5);
    const first = await start();
    await waitUntil("it is put off", () => first.runs.length > 0);
    await first.stop();
    await ageJob();
    await die(1);
    const second = await start();
    await waitUntil("it is put off for the last time", () => second.runs.length > 0);
    await second.stop();
    await database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
    await die(1);
    expect(await find(id)).toMatchObject({ status: "pending" });
    await start();
    await untilFailed(id);
    expect(await find(id)).toMatchObject({ error: expect.stringContaining("its process died or was held up"), canReadAgain: true });
    expect(await makeJobOverview(database).count(null)).toEqual([]);
  });

  test("because the index is switched off fails with this reason", async () => {
    const { id } = await add();
    const runner = await startRunner(
      queue,
      {},
      { handlers: { ingest: makeIngestWithoutIndex(chunks) } as unknown as RunJobsParts["handlers"] },
    );
    await waitUntil("a try", () => runner.runs.length > 0);
    await ageJob();
    await untilFailed(id);
    expect(await find(id)).toMatchObject({ error: expect.stringContaining("index is switched off"), canReadAgain: true });
  });

  test("stays failed when its file is not kept", async () => {
    const { id } = await add();
    await chunks.fail({ tenantId: PLACE.tenantId, documentId: id }, "It is damaged.");
    expect(await documents.readAgain(PLACE, id)).toMatchObject({ status: "failed", error: "It is damaged.", canReadAgain: false });
    expect(await documents.readAgain({ ...PLACE, tenantId: "globex" }, id)).toBeNull();
  });
});

const ADA = { tenantId: "acme", userId: "ada" };
const TRAVEL = { tenantId: "acme", prefix: "travel" };
const openMemory = async (database: Database): Promise<EpisodicMemory> =>
  openEpisodicMemory({ database, store: await openPostgresSearchStore(database), embedder: makeHashedEmbedder({ dimensions: 64 }) });
/** Runs jobs until none is left. */
async function doJobs(database: Database, episodicMemory: EpisodicMemory): Promise<void> {
  const jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory });
  await waitUntil("there is no job", async () => (await database.query({ text: "select from pgboss.job" })).length === 0);
  await jobs.stop();
}
describe("what is derived, after a restore", () => {
  let folder: ExportFolder;
  let source: Database;
  let restored: Database;
  let memory: EpisodicMemory;
  let file: string;
  beforeAll(async () => {
    [folder, source, restored] = await Promise.all([createExportFolder(), openTestEmbedded(), openTestEmbedded()]);
    await rememberConversation(source, ADA, "plums");
    await makeKnowledgeBaseStore(source).put("acme", { prefix: "travel", description: "Journeys", keywords: [] });
    const add = (title: string, text: string) =>
      makeDocumentStore(source).add(TRAVEL, { title, contentType: "text/plain", bytes: Buffer.from(text), externalId: null, metadata: {} });
    await add("Trams", "Trams climb the hills of Lisbon.");
    await doJobs(source, await openMemory(source));
    await add("Ferries", "Ferries cross the Tagus.");
    file = await folder.save(source);
    await restoreExport({ database: restored, file });
    memory = await openMemory(restored);
    await doJobs(restored, memory);
  });
  afterAll(() => Promise.all([source.close(), restored.close(), folder.remove()]));

  test("episodes and archived memories are found again", async () => {
    const { episodes } = await memory.recall({ ...ADA, question: "Question about plums", limit: 10 });
    const texts = episodes.map(({ userMessage }) => userMessage).toSorted();
    expect(texts).toEqual(["Memory of plums", "Question about plums", "Question about plums"]);
  });

  test.each([
    ["had answered", "hills trams", "Trams"],
    ["had not been read", "Tagus ferries", "Ferries"],
  ])("documents that %s answer", async (_name, question, title) => {
    expect(await memory.findPassages({ ...TRAVEL, question, by: "hybrid", limit: 1 })).toMatchObject({ passages: [{ title }] });
  });

  test("nothing of the truth has changed, but for the document that was read", async () => {
    const without = (lines: string[]) => lines.filter((line) => !/Ferries|Tagus/.test(line));
    expect(without(await rowLines(await folder.save(restored)))).toEqual(without(await rowLines(file)));
  });
});
