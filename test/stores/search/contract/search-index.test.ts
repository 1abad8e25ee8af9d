import { afterAll, describe, expect, test } from "@jest/globals";
import { openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { openMilvusSearchStore } from "../../../../stores/search/milvus/open-milvus-search-store.ts";
import { openPostgresSearchStore } from "../../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchHit, SearchIndex, SearchStore } from "../../../../stores/search/contract/search-index.ts";
import { createRealDatabase, openTestEmbedded, openTestPostgres } from "../../../support/databases/databases.ts";
import { describeUnless } from "../../../support/describe-unless.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { lexicalText } from "../../../../text/lexical-text.ts";
import { makeSeededRandom } from "../../../support/samples/seeded-random.ts";
import { createDataFolder } from "../../../servers/data-folder.ts";
import { startMilvusServer, whyNoMilvus } from "../../../servers/milvus-server.ts";
import { startVectorPostgres, whyNoVectorPostgres } from "../../../servers/vector-postgres.ts";
import { ANNA, definitionOf, DIMENSIONS, direction, sampleDocument, sampleId } from "../sample-document.ts";
import { describeSearchStore, type StoreUnderTest } from "../search-index.contract.ts";

const TIMEOUT_MS = 20_000;

async function openOn(database: Database): Promise<StoreUnderTest> {
  return {
    store: await openPostgresSearchStore(database),
    reopen: () => openPostgresSearchStore(database),
    close: () => database.close(),
  };
}

/** Opens a store once for all tests of this file. */
function openOnce(open: () => Promise<StoreUnderTest>): () => Promise<StoreUnderTest> {
  let opened: Promise<StoreUnderTest> | undefined;
  afterAll(async () => (await opened)?.close());
  return async () => ({ ...(await (opened ??= open())), close: () => Promise.resolve() });
}

const openOnEmbedded = openOnce(async () => openOn(await openTestEmbedded()));
const openOnPlain = openOnce(async () => openOn(await openTestPostgres()));

async function openOnVectorPostgres(): Promise<StoreUnderTest> {
  const server = await startVectorPostgres();
  const database = await openPostgres(server.url);
  return openOn({ ...database, close: () => database.close().then(() => server.stop()) });
}

const openOnMilvus = openOnce(async () => {
  const [server, database] = await Promise.all([startMilvusServer(), openTestPostgres()]);
  const open = () => openMilvusSearchStore(database, { address: server.address }, { timeoutMs: TIMEOUT_MS });
  const store = await open();
  return {
    store,
    reopen: open,
    async close() {
      await store.close();
      await database.close();
      await server.remove();
    },
  };
});

describeSearchStore("embedded PGlite", "pgvector", openOnEmbedded);
describeSearchStore("a plain Postgres", "plain", openOnPlain);

test("an index in a folder is there when the embedded database is opened again", async () => {
  const { folder, remove } = await createDataFolder();
  const definition = definitionOf("kept");
  const first = await openEmbeddedPostgres(folder);
  await (await (await openPostgresSearchStore(first)).openIndex(definition)).upsert([sampleDocument(1, { ownerKey: ANNA })]);
  await first.close();
  const second = await openEmbeddedPostgres(folder);
  const index = await (await openPostgresSearchStore(second)).openIndex(definition);
  expect(await index.searchWords({ ownerKey: ANNA }, "sample", 5)).toHaveLength(1);
  expect(await index.searchVectors({ ownerKey: ANNA }, direction(1), 5)).toHaveLength(1);
  await second.close();
  await remove();
});

test("an index from before it knew the script of a document learns it when it is opened", async () => {
  const database = await openTestPostgres();
  const definition = definitionOf("older");
  const texts = ["我的狗叫小白 ok", "my dog is called Snowy", "dog tuesday novemb 24 2026 年 星期 星期二 二", "我用 TypeScript 写程序"];
  const documents = texts.map((text, number) => sampleDocument(number + 1, { ownerKey: ANNA, lexicalText: lexicalText(text) }));
  await (await (await openPostgresSearchStore(database)).openIndex(definition)).upsert(documents);
  await database.query({ text: 'alter table search."older" drop column script' });
  const index = await (await openPostgresSearchStore(database)).openIndex(definition);
  const found = await index.fetch(
    ANNA,
    documents.map(({ id }) => id),
  );
  const scripts = new Map(found.map(({ id, script }) => [id, script]));
  expect(documents.map(({ id }) => scripts.get(id))).toEqual(["han", "other", "other", "han"]);
  await database.close();
});

test("a user who may not create the schema is refused with the two ways out", async () => {
  const { url, drop } = await createRealDatabase();
  const owner = await openPostgres(url);
  await owner.query({ text: "create role stranger login password 'stranger'" });
  const database = await openPostgres(url.replace(/\/\/[^@]+@/, "//stranger:stranger@"));
  await expect(openPostgresSearchStore(database)).rejects.toMatchObject({
    code: "invalid_configuration",
    message: expect.stringMatching(/Grant CREATE.*ENABLE_EPISODIC_MEMORY=false/),
  });
  // The failed attempt leaves nothing behind and the connection usable.
  expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  await database.close();
  await owner.query({ text: "drop role stranger" });
  await owner.close();
  await drop();
});

describeUnless(await whyNoVectorPostgres(), "with a Postgres of its own", () => {
  describeSearchStore("a Postgres with pgvector", "pgvector", openOnVectorPostgres);
});
describeUnless(await whyNoMilvus(), "with Milvus Lite", () => {
  describeSearchStore("Milvus Lite", "milvus", openOnMilvus);
  describe("the same query on three stores", describeEquality);
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
  const [embedded, plain, lite] = [useOpened(openOnEmbedded), useOpened(openOnPlain), useOpened(openOnMilvus, 120_000)];

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
    const [first, ...others] = await Promise.all([openIndex(embedded), openIndex(plain), openIndex(lite)]);
    for (const flushed of [false, true]) {
      if (flushed) await Promise.all([first, ...others].map((index) => index.flush()));
      for (let round = 0; round < 20; round++) {
        const query = words(1 + (round % 8));
        const vector = unit();
        const filter = { ownerKey: ANNA, from: documents[50]?.createdAt, until: documents[250]?.createdAt };
        const ask = (index: SearchIndex) =>
          Promise.all([index.searchWords({ ownerKey: ANNA }, query, 30), index.searchVectors(filter, vector, 30)]);
        const [byWords, byVectors] = await ask(first);
        for (const other of others) {
          const [words, vectors] = await ask(other);
          expectSameRanking(byWords, words);
          expectSameRanking(byVectors, vectors);
        }
      }
    }
    for (const other of others) expect(await other.fetch(ANNA, [sampleId(5)])).toEqual(await first.fetch(ANNA, [sampleId(5)]));
  });
}
