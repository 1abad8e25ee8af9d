import { afterEach, describe, expect, test } from "@jest/globals";
import { makeUsageMeter, type UsageMeter } from "../../../server/limits/usage-meter.ts";
import type { UsedCalls } from "../../../stores/postgres/usage/usage-store.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ADA = { tenantId: "acme", userId: "ada" };
const CALL = { work: "model_call", purpose: "chat", model: "m" } as const;

describe("the meter of models' calls", () => {
  const written: UsedCalls[][] = [];
  const errors: unknown[] = [];
  let fail = false;
  const opened: UsageMeter[] = [];
  const open = (): UsageMeter => {
    const store = {
      add(used: readonly UsedCalls[]) {
        if (fail) return Promise.reject(new Error("the table is unreachable"));
        written.push([...used]);
        return Promise.resolve();
      },
    };
    const meter = makeUsageMeter({ store, pricesOf: () => null, onError: (error) => errors.push(error) });
    opened.push(meter);
    return meter;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((meter) => meter.close()));
    written.length = errors.length = 0;
    fail = false;
  });
  const call = (meter: UsageMeter, tokens: number) =>
    meter.countFor(ADA, () =>
      meter.observer.watch(CALL, async (learn) => {
        await Promise.resolve();
        learn({ inputTokens: tokens, outputTokens: 1, cachedTokens: 2 });
      }),
    );

  test("writes calls together, one row for a user, model and purpose", async () => {
    const meter = open();
    await Promise.all([call(meter, 10), call(meter, 20)]);
    await meter.close();
    expect(written).toMatchObject([
      [{ ...ADA, model: "m", calls: 2, promptTokens: 30, completionTokens: 2, cachedTokens: 4, unpricedCalls: 2 }],
    ]);
  });

  test("hands on when the first of them was taken from the database", async () => {
    const meter = open();
    const took = performance.now() - 5_000;
    await meter.countFor(ADA, () => meter.observer.watch(CALL, async (learn) => learn({ inputTokens: 1, outputTokens: 1 })), took);
    await call(meter, 10);
    await meter.close();
    expect(written).toMatchObject([[{ calls: 2, began: took }]]);
  });

  test("loses nothing and doubles nothing when the database is unreachable for a while", async () => {
    const meter = open();
    fail = true;
    await call(meter, 10);
    await waitUntil("a failure", () => errors.length > 0);
    await call(meter, 5);
    fail = false;
    await waitUntil("the written calls", () => written.length > 0);
    expect(written).toMatchObject([[{ calls: 2, promptTokens: 15 }]]);
  });

  test("leaves out what is for nobody, and calls that threw before they told of their tokens", async () => {
    const meter = open();
    await meter.observer.watch(CALL, async (learn) => learn({ inputTokens: 10 }));
    const thrown = meter.countFor(ADA, () => meter.observer.watch(CALL, () => Promise.reject(new Error("away"))));
    await expect(thrown).rejects.toThrow("away");
    await meter.close();
    expect(written).toEqual([]);
  });
});
