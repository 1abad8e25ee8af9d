import { expect, test } from "@jest/globals";
import { makeTokenUsageStore } from "../../../../stores/postgres/usage/usage-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";

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
