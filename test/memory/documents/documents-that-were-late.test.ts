import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeIngestDocument } from "../../../memory/documents/ingest-document.ts";
import type { DocumentLimits } from "../../../memory/parsing/document.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeChunkStore } from "../../../stores/postgres/knowledge/chunk-store.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openEpisodeIndex } from "../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { RunJobsParts } from "../../../memory/jobs/run-jobs.ts";
import { useTestEmbedded } from "../../support/databases/databases.ts";
import { makeRecordingEmbedder } from "../../support/samples/recording-embedder.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { useRunners } from "../jobs/job-runners.ts";

const PLACE = { tenantId: "acme", prefix: "travel" };
/** No thread begins so soon. */
const TOO_SHORT = { timeoutMs: 1 };

describe("a document whose reading got too little of the machine", () => {
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

  test("is read again as any job is tried again, and fails after the last try, with what to do, until somebody has it read again", async () => {
    const { id } = await add();
    const late = await start(TOO_SHORT);
    await waitUntil("the first try", () => late.runs.length > 0);
    expect(late.runs[0]).toMatchObject({ outcome: "failed", error: { code: "overloaded" } });
    expect(await find(id)).toMatchObject({ status: "pending", error: null, canReadAgain: false });

    const text = "update pgboss.job set created_on = now() - interval '2 days', start_after = now() where state = 'retry' returning id";
    await waitUntil("the job is a day old", async () => (await database.query({ text })).length > 0);
    const due = { text: "update pgboss.job set start_after = now() where state = 'retry'" };
    await waitUntil("the last try", async () => {
      await database.query(due);
      return (await find(id))?.status === "failed";
    });
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

  test("stays as it is when its file is not kept", async () => {
    const { id } = await add();
    await chunks.fail({ tenantId: PLACE.tenantId, documentId: id }, "It is damaged.");
    expect(await documents.readAgain(PLACE, id)).toMatchObject({ status: "failed", error: "It is damaged.", canReadAgain: false });
    expect(await documents.readAgain({ ...PLACE, tenantId: "globex" }, id)).toBeNull();
  });
});
