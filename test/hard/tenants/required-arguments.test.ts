import { beforeAll, describe, expect, test } from "@jest/globals";
import { storeSignatures, type StoreSignature } from "./store-signatures.ts";

/** What need not say whose data it touches, and why. */
const OF_NO_TENANT: Record<string, string> = {
  "Queryable.query": "the connection that stores are made of",
  "Database.query": "the connection that stores are made of",
  "Database.transaction": "the connection that stores are made of",
  "Database.listen": "the connection that stores are made of",
  "Database.close": "the connection that stores are made of",
  "PooledDatabaseParts.listen": "the connection that stores are made of",
  "PooledDatabaseParts.afterClose": "the connection that stores are made of",
  toBossDatabase: "the connection as the queue wants it",
  migrate: "the schema",
  installJobQueue: "the schema",
  createIndexTable: "the schema of an index",
  dropIndexTable: "the schema of an index",
  listIndexNames: "the schema of indexes",
  retireIndex: "which index serves everybody",
  findIndexRecord: "which index serves everybody",
  "ServingIndex.name": "which index serves everybody",
  "ServingIndex.open": "which index serves everybody",
  "EpisodeIndex.name": "which index serves everybody",
  "EpisodeIndex.open": "which index serves everybody",
  "SearchStore.openIndex": "whole indexes, of everybody",
  "SearchStore.listIndexes": "whole indexes, of everybody",
  "SearchStore.dropIndex": "whole indexes, of everybody",
  "SearchStore.check": "the server of the indexes",
  "SearchStore.close": "the server of the indexes",
  "SearchIndex.count": "a number, for operators who rebuild the index",
  "SearchIndex.flush": "whole indexes, of everybody",
  "Readiness.prepare": "whole collections, of everybody",
  "Readiness.read": "runs a call that says whose data it is about",
  "Readiness.change": "runs a call that says whose data it is about",
  "Readiness.write": "runs a call that says whose data it is about",
  "PreparedCollection.isThere": "whole collections, of everybody",
  "PreparedCollection.prepare": "whole collections, of everybody",
  "ChunkStore.listDocumentsUnindexed": "rebuilds the index of everybody; gives whose the documents are",
  "EpisodeStore.listUnindexed": "rebuilds the index of everybody; gives whose the conversations are",
  "EpisodeStore.countExchanges": "a number, for operators who rebuild the index",
  releaseDeadLeases: "conversations of whatever process had the embedded database before, of everybody",
  clearOldTurns: "forgets what is older than a day, of everybody, and gives nothing",
  "JobTransaction.settle": "names the claim of a job that this process was given",
  "JobTransaction.fail": "names the claim of a job that this process was given",
  "JobTransaction.add": "each kind of job says whose it is in its own way: by tenant, by tenant and user, by owner key",
  "JobQueue.transaction": "the connection of the queue",
  "JobQueue.claim": "workers do the jobs of everybody; each says whose it is",
  "JobQueue.touch": "names the claims of jobs that this process was given",
  "JobQueue.watch": "workers do the jobs of everybody",
  findOldestWaiting: "ages of jobs by kind, for metrics",
  "JobTransaction.addVacuum": "the files of the embedded database, of everybody",
  "JobQueue.keepUnended": "names the claim of a job that this process was given",
  "ErasureStore.purgeRows": "names an erasure, whose rows have no owner any more",
  "ErasureStore.nextGroups": "names an erasure, whose rows have no owner any more",
  "ErasureStore.finish": "names an erasure, whose rows have no owner any more",
  listTables: "the files of the embedded database, of everybody",
  isBusy: "the embedded database as a whole",
  rewriteTable: "the files of the embedded database, of everybody",
  dropOldLog: "the files of the embedded database, of everybody",
  inSnapshot: "the connection that an export is read by",
  readColumns: "the schema",
  readSchemaVersion: "the schema",
  countRows: "a number, for a restore, which refuses a store that is not empty",
  exportLines: "for operators, who may export everybody; a selection names tenant and user",
  migrateFrom: "the schema",
};

/** What belongs to a tenant as a whole. */
const OF_A_TENANT = [
  /^Knowledge(BaseStore|Catalog)\./,
  /^DocumentStore\./,
  /^ChunkStore\./,
  /^addChunkSweeps$/,
  /^TokenUsageStore\.add$/,
  /^JobOverview\.(count|listDead|retryDead)$/, // for callers who act for every user of a tenant
];

describe("functions of the stores", () => {
  let signatures: StoreSignature[];
  beforeAll(() => {
    signatures = storeSignatures("stores", ["tenantId", "userId", "ownerKey"]);
  });

  test("are found", () => {
    const names = signatures.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(90);
    for (const one of ["TurnStore.begin", "SearchIndex.searchWords", "loadEpisodeTexts", "KnowledgeBaseStore.list"])
      expect(names).toContain(one);
  });

  test("cannot be called without a tenant, unless they are of none", () => {
    const without = signatures.filter(({ demands }) => !demands.has("tenantId") && !demands.has("ownerKey")).map(({ name }) => name);
    expect(without.toSorted()).toEqual(Object.keys(OF_NO_TENANT).toSorted());
  });

  test("cannot be called without a user, where the data is a user's", () => {
    const isOfUser = ({ name }: StoreSignature): boolean => !(name in OF_NO_TENANT) && !OF_A_TENANT.some((pattern) => pattern.test(name));
    const without = signatures.filter((one) => isOfUser(one) && !one.demands.has("userId") && !one.demands.has("ownerKey"));
    expect(without.map(({ name }) => name)).toEqual([]);
    for (const pattern of OF_A_TENANT) expect(signatures.some(({ name }) => pattern.test(name))).toBe(true);
  });
});
