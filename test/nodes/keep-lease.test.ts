import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { withLease } from "../../nodes/turn-lease.ts";
import { makeFakeTurnStore } from "./fake-turn-store.ts";
import type { HeldTurn } from "../../stores/postgres/conversations/begin-turn.ts";

const HELD: HeldTurn = { tenantId: "tenant", userId: "user", conversationId: "conversation", turnId: "turn" };
const LEASE_MS = 3_000;

/** Work that lasts until it is finished or its signal aborts, and gives the reason of that. */
function longWork() {
  const done = Promise.withResolvers<unknown>();
  return {
    finish: (result: unknown) => done.resolve(result),
    work: (signal: AbortSignal): Promise<unknown> => {
      if (signal.aborted) return Promise.resolve(signal.reason);
      signal.addEventListener("abort", () => done.resolve(signal.reason), { once: true });
      return done.promise;
    },
  };
}

describe("keepLease", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("renews three times per lease while the work lasts, and not a moment longer", async () => {
    const renewals: [HeldTurn, number][] = [];
    const turns = makeFakeTurnStore({ renew: async (held, leaseMs) => renewals.push([held, leaseMs]) > 0 });
    const { work, finish } = longWork();
    const kept = withLease({ turns, leaseMs: LEASE_MS }, HELD, undefined, work);
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toEqual(Array.from({ length: 6 }, () => [HELD, LEASE_MS]));
    finish("an answer");
    expect(await kept).toBe("an answer");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("ends the work with turn_superseded when the lease was lost", async () => {
    const turns = makeFakeTurnStore({ renew: async () => false });
    const kept = withLease({ turns, leaseMs: LEASE_MS }, HELD, undefined, longWork().work);
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    const reason = await kept;
    expect(reason).toBeInstanceOf(AppError);
    expect(reason).toMatchObject({ code: "turn_superseded", retryable: true });
  });

  test("goes on when the database cannot be reached for a moment, and renews again", async () => {
    const outcomes = [() => Promise.reject(new AppError("storage_unavailable", "gone")), () => Promise.resolve(true)];
    let renewals = 0;
    const turns = makeFakeTurnStore({ renew: () => (outcomes[renewals++ % 2] as () => Promise<boolean>)() });
    const { work, finish } = longWork();
    const kept = withLease({ turns, leaseMs: LEASE_MS }, HELD, undefined, work);
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toBe(6);
    finish("an answer");
    expect(await kept).toBe("an answer");
  });

  test("ends the work with the caller's reason when the caller cancels", async () => {
    const turns = makeFakeTurnStore({});
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    const kept = withLease({ turns, leaseMs: LEASE_MS }, HELD, cancellation.signal, longWork().work);
    cancellation.abort(reason);
    expect(await kept).toBe(reason);
  });

  test("tells the work when it was cancelled before it began", async () => {
    const reason = new AppError("turn_cancelled", "stopped");
    expect(await withLease({ turns: makeFakeTurnStore({}), leaseMs: LEASE_MS }, HELD, AbortSignal.abort(reason), longWork().work)).toBe(
      reason,
    );
  });

  test("stops renewing when the work fails, and throws its error", async () => {
    const failure = new Error("broken");
    const kept = withLease({ turns: makeFakeTurnStore({}), leaseMs: LEASE_MS }, HELD, undefined, () => Promise.reject(failure));
    await expect(kept).rejects.toBe(failure);
    expect(jest.getTimerCount()).toBe(0);
  });
});
