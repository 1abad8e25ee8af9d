import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { makeTokenQuota, type TokenQuota } from "../../../server/limits/token-quota.ts";
import type { TokenUsageStore } from "../../../stores/postgres/token-usage-store.ts";
import { waitUntil } from "../../support/wait-until.ts";

const EVENING = Date.parse("2026-03-01T23:59:00Z");

/** A table of sums in memory that counts how often it is asked; `fail` makes it refuse. */
function makeTable() {
  const sums = new Map<string, number>();
  const asked: [tenantId: string, day: string, tokens: number][] = [];
  const table = {
    asked,
    sums,
    fail: false,
    add(tenantId: string, day: string, tokens: number): Promise<number> {
      asked.push([tenantId, day, tokens]);
      if (table.fail) return Promise.reject(new Error("the table is away"));
      const sum = (sums.get(`${tenantId} ${day}`) ?? 0) + tokens;
      sums.set(`${tenantId} ${day}`, sum);
      return Promise.resolve(sum);
    },
  };
  return table satisfies TokenUsageStore & object;
}

describe("the sum of a tenant's tokens", () => {
  let clock: number;
  let table: ReturnType<typeof makeTable>;
  let errors: unknown[];
  const opened: TokenQuota[] = [];
  const open = (perDay: number): TokenQuota => {
    const quota = makeTokenQuota({ usage: table, perDay, onError: (error) => errors.push(error), now: () => clock });
    opened.push(quota);
    return quota;
  };
  const refusal = { code: "token_quota_exceeded" };
  beforeEach(() => {
    clock = EVENING;
    table = makeTable();
    errors = [];
  });
  afterEach(() => Promise.all(opened.splice(0).map((quota) => quota.close())));

  test("counts in the process that used them at once, before they are written", async () => {
    const quota = open(10);
    await quota.assertLeft("acme");
    quota.add("acme", 10);
    await expect(quota.assertLeft("acme")).rejects.toMatchObject({ ...refusal, retryAfterSeconds: 60 });
    await expect(quota.assertLeft("other")).resolves.toBeUndefined();
  });

  test("begins anew at midnight UTC, and what was used before stays with its day", async () => {
    const quota = open(10);
    quota.add("acme", 10);
    clock += 59_001;
    await expect(quota.assertLeft("acme")).rejects.toMatchObject({ ...refusal, retryAfterSeconds: 1 });
    quota.add("acme", 3);
    clock += 999;
    await expect(quota.assertLeft("acme")).resolves.toBeUndefined();
    quota.add("acme", 4);
    await quota.close();
    expect([...table.sums]).toEqual([
      ["acme 2026-03-01", 13],
      ["acme 2026-03-02", 4],
    ]);
  });

  test("is asked of the database at most once a second, however many turns begin and end", async () => {
    const quota = open(1_000_000);
    for (let turn = 0; turn < 50; turn++) {
      await quota.assertLeft("acme");
      quota.add("acme", 2);
    }
    expect(table.asked).toEqual([["acme", "2026-03-01", 0]]);
    await waitUntil("what has come together", () => table.sums.get("acme 2026-03-01") === 100);
    expect(table.asked).toHaveLength(2);
  });

  test("loses nothing and doubles nothing when the database is away for a while", async () => {
    const quota = open(100);
    table.fail = true;
    quota.add("acme", 60);
    await waitUntil("a failure", () => errors.length > 0);
    quota.add("acme", 5);
    table.fail = false;
    await waitUntil("what has come together", () => table.sums.get("acme 2026-03-01") === 65);
    quota.add("acme", 35);
    await expect(quota.assertLeft("acme")).rejects.toMatchObject(refusal);
  });

  test("cannot be known while the database is away: then no turn begins", async () => {
    table.fail = true;
    await expect(open(100).assertLeft("acme")).rejects.toThrow("the table is away");
  });

  test("is neither read nor written without a limit", async () => {
    const quota = open(0);
    quota.add("acme", 60);
    await quota.assertLeft("acme");
    await quota.close();
    expect(table.asked).toEqual([]);
  });
});
