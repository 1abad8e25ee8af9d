import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openEpisodicMemory, type EpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { restoreExport } from "../../../stores/postgres/export/restore-export.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import { openTestEmbedded } from "../../support/databases/databases.ts";
import { createExportFolder, rowLines, type ExportFolder } from "../../stores/postgres/export/export-files.ts";
import { rememberConversation } from "../../support/samples/user-with-memory.ts";
import { waitUntil } from "../../support/wait-until.ts";

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

describe("a restore", () => {
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

  test("brings episodes and archived memories back", async () => {
    const { episodes } = await memory.recall({ ...ADA, question: "Question about plums", limit: 10 });
    const texts = episodes.map(({ userMessage }) => userMessage).toSorted();
    expect(texts).toEqual(["Memory of plums", "Question about plums", "Question about plums"]);
  });

  test.each([
    ["had answered", "hills trams", "Trams"],
    ["had not been read", "Tagus ferries", "Ferries"],
  ])("brings documents back that %s", async (_name, question, title) => {
    expect(await memory.findPassages({ ...TRAVEL, question, by: "hybrid", limit: 1 })).toMatchObject({ passages: [{ title }] });
  });

  test("changes nothing of the truth, but for the document that was read", async () => {
    const without = (lines: string[]) => lines.filter((line) => !/Ferries|Tagus/.test(line));
    expect(without(await rowLines(await folder.save(restored)))).toEqual(without(await rowLines(file)));
  });
});
