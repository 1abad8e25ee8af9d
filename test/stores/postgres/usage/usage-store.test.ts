import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { lockOwner } from "../../../../stores/postgres/paths/locks.ts";
import { addMarkers } from "../../../../stores/postgres/conversations/erase-markers.ts";
import { forgetWhoUsed, makeUsageStore, type UsedCalls } from "../../../../stores/postgres/usage/usage-store.ts";
import { ownerKey } from "../../../../stores/index-keys.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { makeTokenUsageStore } from "../../../../stores/postgres/usage/usage-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";

const ADA = { tenantId: "acme", userId: "ada" };
const TOKENS = { promptTokens: 10, completionTokens: 2, cachedTokens: 0, inputUsd: 0, outputUsd: 0 };
const callOf = (began: number): UsedCalls => ({
  ...{ ...ADA, ...TOKENS, began, day: "2026-11-20", model: "m", purpose: "chat" },
  ...{ calls: 1, estimatedCalls: 0, unpricedCalls: 1 },
});
describe("the sums of models' calls", () => {
  const database = useTestPostgres();
  const usage = makeUsageStore(database);
  const rows = () => database.query({ text: "select user_id, calls::int from model_usage order by user_id" });
  const waitsForLock = async () =>
    (await database.query({ text: "select from pg_locks where locktype = 'advisory' and not granted" })).length > 0;

  test("name a user who is erased while they wait to be written only for calls that began after the erase", async () => {
    await usage.add([callOf(performance.now())]);
    const adding = await database.transaction(async (transaction) => {
      await lockOwner(transaction, ADA);
      const waiting = usage.add([callOf(performance.now())]);
      await waitUntil("the sums to wait for the erase", waitsForLock);
      await addMarkers(transaction, { ownerKey: ownerKey(ADA.tenantId, ADA.userId), groupIds: [], episodeIds: [] }, { isWhole: true });
      await forgetWhoUsed(transaction, ADA);
      await sleep(200); // longer than the call took
      return { waiting };
    });
    await adding.waiting;
    expect(await rows()).toEqual([{ user_id: "", calls: 2 }]);
    await usage.add([callOf(performance.now())]);
    expect(await rows()).toEqual([
      { user_id: "", calls: 2 },
      { user_id: "ada", calls: 1 },
    ]);
  });
});

describeStores("the sums of tokens", ({ database }) => {
  const usage = makeTokenUsageStore(database);

  test("are kept by tenant and day, also when many add at once", async () => {
    await Promise.all(Array.from({ length: 20 }, () => usage.add("acme", "2026-03-01", 7)));
    expect(await usage.add("acme", "2026-03-01", 1)).toBe(141);
    expect(await usage.add("acme", "2026-03-02", 5)).toBe(5);
    expect(await usage.add("acme-corp", "2026-03-01", 3_000_000_000)).toBe(3_000_000_000);
    expect(await usage.add("acme", "2026-03-01", 0)).toBe(141);
  });

  test("are only read by adding nothing", async () => {
    expect(await usage.add("nobody", "2026-03-01", 0)).toBe(0);
    expect(await database.query({ text: "select 1 from token_usage where tenant_id = 'nobody'" })).toEqual([]);
  });
});
