import { beforeAll, describe, expect, test } from "@jest/globals";
import { storeSignatures, type StoreSignature } from "./store-signatures.ts";

/** What need not say whose data it touches, by the reason. */
const OF_NO_TENANT: Record<string, string> = {
  "the connection that stores are made of": `Queryable.query Database.query Database.transaction Database.listen Database.close PooledDatabaseParts.listen
    PooledDatabaseParts.afterClose toBossDatabase JobQueue.transaction inSnapshot`,
  "the schema": `migrate installJobQueue readColumns readSchemaVersion migrateFrom createIndexTable dropIndexTable listIndexNames`,
  "which index serves everybody": `retireIndex findIndexRecord ServingIndex.name ServingIndex.open EpisodeIndex.name EpisodeIndex.open`,
  "whole indexes, of everybody": `SearchStore.openIndex SearchStore.listIndexes SearchStore.dropIndex SearchIndex.flush SearchStore.check
    SearchStore.close Readiness.prepare PreparedCollection.isThere PreparedCollection.prepare`,
  "a number, for operators": `SearchIndex.count EpisodeStore.countExchanges findOldestWaiting countRows`,
  "run a call that says whose data it is about": `Readiness.read Readiness.change Readiness.write`,
  "rebuild the index of everybody, and give whose the rows are": `ChunkStore.listDocumentsUnindexed EpisodeStore.listUnindexed`,
  "clean up after everybody, and give nothing": `releaseDeadLeases clearOldTurns`,
  "name claims of jobs, or an erasure, that this process was given": `JobTransaction.settle JobTransaction.fail JobQueue.keepUnended JobQueue.touch ErasureStore.purgeRows
    ErasureStore.nextGroups ErasureStore.finish`,
  "workers do the jobs of everybody, each of which says whose it is": `JobTransaction.add JobQueue.claim JobQueue.watch`,
  "the embedded database as a whole": `JobTransaction.addVacuum listTables rewriteTable dropOldLog isBusy`,
  "for operators, who may export everybody; a selection names tenant and user": `exportLines`,
};
const NAMES_OF_NO_TENANT = Object.values(OF_NO_TENANT).flatMap((names) => names.split(/\s+/));

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
    expect(without.toSorted()).toEqual(NAMES_OF_NO_TENANT.toSorted());
  });

  test("cannot be called without a user, where the data is a user's", () => {
    const isOfUser = ({ name }: StoreSignature): boolean =>
      !NAMES_OF_NO_TENANT.includes(name) && !OF_A_TENANT.some((pattern) => pattern.test(name));
    const without = signatures.filter((one) => isOfUser(one) && !one.demands.has("userId") && !one.demands.has("ownerKey"));
    expect(without.map(({ name }) => name)).toEqual([]);
    for (const pattern of OF_A_TENANT) expect(signatures.some(({ name }) => pattern.test(name))).toBe(true);
  });
});
