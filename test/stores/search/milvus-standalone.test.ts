import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { ownerKey } from "../../../stores/index-keys.ts";
import type { SearchDocument, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import type { MilvusAddress } from "../../../stores/search/milvus/connect-milvus.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { collectionSchema } from "../../../stores/search/milvus/prepare-collection.ts";
import { PARTS, partOf } from "../../../stores/search/milvus/parted-index.ts";
import { startStandaloneMilvus, whyNoStandaloneMilvus } from "../../servers/milvus-server.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { succeeds, waitUntil } from "../../support/wait-until.ts";
import { ANNA, definitionOf, direction, idsOf, sampleDocument, sampleId } from "./sample-document.ts";
import { describeSearchStore } from "./search-index.contract.ts";

const START_MS = 180_000;
const PATIENT_MS = 60_000;
/** Collections of a database. */
const LIMIT = 100;
/** With a short lease: until it ends, a server that was killed cannot start again. */
const SETTINGS = [
  "common.security.authorizationEnabled=true",
  "common.session.ttl=3",
  `quotaAndLimits.limits.maxCollectionNumPerDB=${LIMIT}`,
];
/** Milvus' own, until somebody changes it. */
const TOKEN = "root:Milvus";
/** Parts for which there is room, in the test of the limit. */
const ROOM = 5;
/** Tests of the contract, each with an index of its own. */
const CONTRACT = 13;
const PROCESSES = 8;
const ROUNDS = 6;

/** One owner of each part. */
const OWNERS = Array.from({ length: PARTS }, (_, part) => {
  const keys = Array.from({ length: 500 }, (_, number) => ownerKey("acme", `user-${number}`));
  return keys.find((key) => partOf(key) === part) ?? "";
});

const expectUnavailable = (call: Promise<unknown>): Promise<void> =>
  expect(call).rejects.toMatchObject({ code: "index_unavailable", retryable: true });

describeUnless(await whyNoStandaloneMilvus(), "with a Milvus server", () => {
  const server = useOpened(async () => {
    const milvus = await startStandaloneMilvus(...SETTINGS);
    return { ...milvus, close: () => milvus.remove() };
  }, START_MS);
  const database = useOpened(openTestPostgres);
  const open = (where: Partial<MilvusAddress> = {}) =>
    openMilvusSearchStore(database, { address: server.address, token: TOKEN, ...where }, { timeoutMs: PATIENT_MS });
  const store = useOpened(open);
  let client: MilvusClient;
  beforeAll(() => {
    client = new MilvusClient({ address: server.address, token: TOKEN, logLevel: "error" });
  });
  afterAll(() => client.closeConnection());

  /** Whether no other is nearer to its vector. */
  const isFound = async (index: SearchIndex, { id, ownerKey: key, embedding }: SearchDocument): Promise<boolean> =>
    idsOf(await index.searchVectors({ ownerKey: key }, embedding, 1))[0] === id;

  describeSearchStore("Milvus", "milvus", async () => {
    const own = await openTestPostgres();
    const openOn = () => openMilvusSearchStore(own, { address: server.address, token: TOKEN }, { timeoutMs: PATIENT_MS });
    const opened = await openOn();
    // All at once: until a server serves a new collection, three seconds pass.
    await Promise.all(
      Array.from({ length: CONTRACT }, async (_, number) => {
        const index = await opened.openIndex(definitionOf(`index_${number + 1}`));
        await index.upsert([sampleDocument(0, { ownerKey: ANNA })]);
        await index.remove(ANNA, [sampleId(0)]);
      }),
    );
    return { store: opened, reopen: openOn, close: () => opened.close().then(() => own.close()) };
  });

  test("a search right after a write finds it, every time, also in another process", async () => {
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => open()));
    const indexes = await Promise.all(processes.map((one) => one.openIndex(definitionOf("at_once"))));
    const missed: string[] = [];
    const write = async (index: SearchIndex, place: number): Promise<void> => {
      const other = indexes[(place + 1) % PROCESSES] ?? index;
      for (let round = 0; round < ROUNDS; round++) {
        const number = place * ROUNDS + round;
        const angle = (number + 1) / (PROCESSES * ROUNDS + 1);
        const embedding = direction(0).map((one, axis) => one * Math.cos(angle) + (direction(1)[axis] ?? 0) * Math.sin(angle));
        const document = sampleDocument(number, { ownerKey: OWNERS[place % 2] ?? "", embedding });
        await index.upsert([document]);
        for (const reader of [index, other]) if (!(await isFound(reader, document))) missed.push(document.id);
      }
    };
    await Promise.all(indexes.map(write));
    expect(missed).toEqual([]);
    expect(await indexes[0]?.count()).toBe(PROCESSES * ROUNDS);
    await Promise.all(processes.map((one) => one.close()));
  });

  describe("a service", () => {
    const service = useServiceWithModel({
      get DATABASE_URL() {
        return database.url;
      },
      get MILVUS_ADDRESS() {
        return server.address;
      },
      MILVUS_TOKEN: TOKEN,
      ENABLE_EPISODIC_MEMORY: "true",
      EMBEDDING_MODEL: "built-in",
    });

    test("recalls what was said a second ago in another conversation, and forgets what is erased", async () => {
      service.model.answer({ tokens: ["Noted."] });
      const api = conversationApi(service.url);
      const { conversation_id: first } = await api.say("ada", "Hello there.", "a");
      expect(await api.settle(first)).toEqual({ settled: true, pending: 0 });
      const { conversation_id: id } = await api.say("ada", "I parked the car in row C of the garage.", "a");
      const asked = () => api.say("ada", "Where did I park the car?", "b");
      const { receipt, degraded } = await asked();
      expect(degraded).toEqual([]);
      expect(receipt.episodes.map(({ conversation_id }) => conversation_id)).toContain(id);
      expect((await fetch(`${service.url}/api/v1/conversations/${id}`, { method: "DELETE" })).status).toBe(200);
      expect((await asked()).receipt.episodes.map(({ conversation_id }) => conversation_id)).not.toContain(id);
    });
  });

  test("a token is asked for, and databases are apart", async () => {
    for (const token of [undefined, "root:wrong"]) {
      const stranger = await open({ token });
      await expectUnavailable(stranger.openIndex(definitionOf("strange")));
      await stranger.close();
    }
    await client.createDatabase({ db_name: "apart" });
    const apart = await open({ database: "apart" });
    await (await apart.openIndex(definitionOf("alone"))).upsert([sampleDocument(1, { ownerKey: ANNA })]);
    expect(await apart.listIndexes()).toEqual(["alone"]);
    expect(await store.listIndexes()).not.toContain("alone");
    await apart.close();
  });

  test("a server at its limit of collections refuses the parts that it has no room for, and serves the others", async () => {
    const db_name = "narrow";
    await client.createDatabase({ db_name });
    const others = Array.from({ length: LIMIT - ROOM }, (_, number) => ({
      ...collectionSchema({ name: `other_${number}`, dimensions: 2 }, false),
      db_name,
    }));
    await Promise.all(others.map((one) => client.createCollection(one)));
    const narrow = await open({ database: db_name });
    const index = await narrow.openIndex(definitionOf("limited"));
    const documents = OWNERS.map((key, number) => sampleDocument(number, { ownerKey: key }));
    const written = await Promise.allSettled(documents.map((document) => index.upsert([document])));
    const refused = written.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(refused).toEqual(Array(PARTS - ROOM).fill(expect.objectContaining({ code: "index_unavailable" })));
    for (const [place, document] of documents.entries()) {
      if (written[place]?.status === "fulfilled") expect(await isFound(index, document)).toBe(true);
    }
    await narrow.close();
    await Promise.all(others.map(({ collection_name }) => client.dropCollection({ collection_name, db_name })));
  });

  test("a kill -9 in the middle of writes loses nothing that was acknowledged; full afterwards, it answers and takes no writes", async () => {
    const index = await store.openIndex(definitionOf("killed"));
    const owners = OWNERS.slice(0, 4);
    const acknowledged: string[] = [];
    let isKilled = false;
    const write = async (owner: string, place: number): Promise<void> => {
      for (let number = place; !isKilled; number += owners.length) {
        if (await succeeds(index.upsert([sampleDocument(number, { ownerKey: owner })]))) acknowledged.push(sampleId(number));
      }
    };
    const writing = Promise.all(owners.map(write));
    await waitUntil("some are written", () => acknowledged.length >= 12);
    const killed = server.kill();
    isKilled = true;
    await Promise.all([killed, writing]);
    await server.start([...SETTINGS, "quotaAndLimits.limitWriting.forceDeny=true"]);
    await waitUntil("the server answers", () => succeeds(store.check()));
    const found = await Promise.all(owners.map((key) => index.searchVectors({ ownerKey: key }, direction(0), 1_000)));
    expect(found.flatMap(idsOf)).toEqual(expect.arrayContaining(acknowledged));

    const other = sampleDocument(10_000, { ownerKey: owners[0] ?? "" });
    await waitUntil("the server is full", async () => !(await succeeds(index.upsert([other]))));
    await expectUnavailable(index.upsert([other]));
    expect(await index.searchVectors({ ownerKey: other.ownerKey }, direction(0), 5)).not.toEqual([]);
    expect(idsOf(await index.searchWords({ ownerKey: other.ownerKey }, "w10000", 5))).toEqual([other.id]);
  });
});
