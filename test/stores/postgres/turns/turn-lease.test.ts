import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../../../errors/app-error.ts";
import { withLease } from "../../../../stores/postgres/turns/turn-lease.ts";
import type { HeldTurn } from "../../../../stores/postgres/turns/recover-turn.ts";
import type { TurnStore } from "../../../../stores/postgres/turns/turn-store.ts";
import { makeFakeTurnStore } from "../../../nodes/fake-turn-store.ts";

const HELD: HeldTurn = { tenantId: "tenant", userId: "user", conversationId: "conversation", turnId: "turn" };
const LEASE_MS = 3_000;

/** Work under a lease that lasts until `finish` is called or its signal aborts, and gives the reason of that. */
function longWork(renew?: TurnStore["renew"], cancelled?: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const turns = makeFakeTurnStore(renew ? { renew } : {});
  const ended = withLease({ turns, leaseMs: LEASE_MS }, HELD, cancelled, (signal) => {
    if (signal.aborted) return Promise.resolve(signal.reason as unknown);
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
    return promise;
  });
  return { finish: resolve, ended };
}

describe("withLease", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("renews three times per lease while the work lasts, also after a failed renewal, and not a moment longer", async () => {
    const renewals: [HeldTurn, number][] = [];
    const { finish, ended } = longWork(async (held, leaseMs) => {
      if (renewals.push([held, leaseMs]) % 2 === 1) throw new AppError("storage_unavailable", "gone");
      return true;
    });
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toEqual(Array.from({ length: 6 }, () => [HELD, LEASE_MS]));
    finish("an answer");
    expect(await ended).toBe("an answer");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("ends the work with turn_superseded when the lease was lost", async () => {
    const { ended } = longWork(async () => false);
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    const reason = await ended;
    expect(reason).toBeInstanceOf(AppError);
    expect(reason).toMatchObject({ code: "turn_superseded", retryable: true });
  });

  test("ends the work with turn_cancelled when a renewal says that another process stops the turn", async () => {
    const stop = new AppError("turn_cancelled", "stopped elsewhere");
    const { ended } = longWork(() => Promise.reject(stop));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(await ended).toBe(stop);
  });

  test("ends the work with the caller's reason when the caller cancels, also before it began", async () => {
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    const { ended } = longWork(undefined, cancellation.signal);
    cancellation.abort(reason);
    expect(await ended).toBe(reason);
    expect(await longWork(undefined, cancellation.signal).ended).toBe(reason);
  });

  test("stops renewing when the work fails, and throws its error", async () => {
    const failure = new Error("broken");
    const ended = withLease({ turns: makeFakeTurnStore({}), leaseMs: LEASE_MS }, HELD, undefined, () => Promise.reject(failure));
    await expect(ended).rejects.toBe(failure);
    expect(jest.getTimerCount()).toBe(0);
  });
});
