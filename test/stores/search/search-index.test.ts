import { mkdtemp, rm } from "node:fs/promises";
import { openAsBlob } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, test } from "@jest/globals";
import { openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchHit, SearchStore } from "../../../stores/search/search-index.ts";
import { openTestEmbedded, openTestPostgres } from "../../support/databases/databases.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { useOpened } from "../../support/use-opened.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { startMilvusServer, whyNoMilvus } from "../../servers/milvus-server.ts";
import { ANNA, definitionOf, DIMENSIONS, direction, sampleDocument, sampleId } from "./sample-document.ts";
import { describeSearchStore, type StoreUnderTest } from "./search-index.contract.ts";

const TIMEOUT_MS = 20_000;

async function openOnEmbedded(): Promise<StoreUnderTest> {
  const database = await openTestEmbedded();
  return {
    store: await openPostgresSearchStore(database),
    reopen: () => openPostgresSearchStore(database),
    close: () => database.close(),
  };
}

async function openOnMilvus(): Promise<StoreUnderTest> {
  const server = await startMilvusServer();
  const open = () => openMilvusSearchStore({ address: server.address }, { timeoutMs: TIMEOUT_MS });
  const store = await open();
  return {
    store,
    reopen: open,
    async close() {
      await store.close();
      await server.remove();
    },
  };
}

describeSearchStore("embedded PGlite", openOnEmbedded);

test("an index in a folder is there when the embedded database is opened again", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-search-"));
  const definition = definitionOf("kept");
  const first = await openEmbeddedPostgres(folder, { loadDataDir: await openAsBlob(process.env["TEST_SNAPSHOT"] ?? "") });
  await (await (await openPostgresSearchStore(first)).openIndex(definition)).upsert([sampleDocument(1, { ownerKey: ANNA })]);
  await first.close();
  const second = await openEmbeddedPostgres(folder);
  const index = await (await openPostgresSearchStore(second)).openIndex(definition);
  expect(await index.searchWords({ ownerKey: ANNA }, "sample", 5)).toHaveLength(1);
  expect(await index.searchVectors({ ownerKey: ANNA }, direction(1), 5)).toHaveLength(1);
  await second.close();
  await rm(folder, { recursive: true, force: true });
});

test("a Postgres without the extensions is refused with the three ways out", async () => {
  const database = await openTestPostgres();
  const refused = openPostgresSearchStore(database);
  await expect(refused).rejects.toMatchObject({
    code: "invalid_configuration",
    message: expect.stringMatching(/MILVUS_ADDRESS.*install the two extensions.*ENABLE_EPISODIC_MEMORY=false/),
  });
  // The failed attempt leaves nothing behind and the connection usable.
  expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  await database.close();
});

describeUnless(await whyNoMilvus(), "with Milvus Lite", () => {
  describeSearchStore("Milvus Lite", openOnMilvus);
  describe("the same query on both stores", describeEquality);
});

/** Scores alike to within rounding, and every document that one ranks above another by more than that is above it in the other, too. */
function expectSameRanking(one: readonly SearchHit[], other: readonly SearchHit[]): void {
  expect(one.map(({ score }) => score)).toEqual(other.map(({ score }) => expect.closeTo(score, 3)));
  const scores = new Map(other.map(({ id, score }) => [id, score]));
  const last = one.at(-1)?.score ?? 0;
  for (const { id, score } of one) {
    if (score - last > 0.001) expect({ id, score: scores.get(id) }).toEqual({ id, score: expect.closeTo(score, 3) });
  }
}

function describeEquality(): void {
  const [embedded, lite] = [useOpened(openOnEmbedded), useOpened(openOnMilvus, 120_000)];

  test("a random corpus of English and Chinese words is ranked alike, before and after a flush", async () => {
    const below = makeSeededRandom(7);
    const random = () => below(2 ** 24) / 2 ** 24;
    const english = Array.from({ length: 60 }, (_, number) => `w${number}`);
    const chinese = [..."导演电影音乐旅行价格学校老师医院"].flatMap((one, position, all) => [one, one + (all[position + 1] ?? "")]);
    const vocabulary = [...english, ...chinese];
    const pick = () => vocabulary[Math.floor(random() ** 2 * vocabulary.length)] ?? "";
    const words = (length: number) => Array.from({ length }, pick).join(" ");
    const unit = () => {
      const values = Array.from({ length: DIMENSIONS }, () => random() - 0.5);
      return values.map((value) => value / Math.hypot(...values));
    };
    const documents = Array.from({ length: 300 }, (_, number) =>
      sampleDocument(number, { ownerKey: ANNA, lexicalText: words(1 + Math.floor(random() * 120)), embedding: unit() }),
    );
    const openIndex = async ({ store }: { store: SearchStore }) => {
      const index = await store.openIndex(definitionOf("equal"));
      await index.upsert(documents);
      return index;
    };
    const [postgres, milvus] = await Promise.all([openIndex(embedded), openIndex(lite)]);
    for (const flushed of [false, true]) {
      if (flushed) await Promise.all([postgres.flush(), milvus.flush()]);
      for (let round = 0; round < 20; round++) {
        const query = words(1 + (round % 8));
        const vector = unit();
        expectSameRanking(
          await postgres.searchWords({ ownerKey: ANNA }, query, 30),
          await milvus.searchWords({ ownerKey: ANNA }, query, 30),
        );
        const filter = { ownerKey: ANNA, from: documents[50]?.createdAt, until: documents[250]?.createdAt };
        expectSameRanking(await postgres.searchVectors(filter, vector, 30), await milvus.searchVectors(filter, vector, 30));
      }
    }
    expect(await postgres.fetch(ANNA, [sampleId(5)])).toEqual(await milvus.fetch(ANNA, [sampleId(5)]));
  }, 180_000);
}
