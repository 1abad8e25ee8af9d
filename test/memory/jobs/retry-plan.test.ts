import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { planRetry } from "../../../memory/jobs/retry-plan.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("planRetry", () => {
  test("leaves a job to the queue's own short delays in its first ten minutes", () => {
    for (const age of [0, 1, 9 * MINUTE, 10 * MINUTE - 0.001]) expect(planRetry(age)).toEqual({});
  });

  test("leaves a job whose clock is ahead of ours to them too", () => {
    expect(planRetry(-30)).toEqual({});
  });

  test.each([
    [10 * MINUTE, 15],
    [HOUR, 90],
    [4 * HOUR, 6 * MINUTE],
    [7 * HOUR, 10 * MINUTE],
    [20 * HOUR, 10 * MINUTE],
  ])("tries a job of %i seconds again after %i", (age, retryAfterSeconds) => {
    expect(planRetry(age)).toEqual({ retryAfterSeconds, isLast: false });
  });

  test("gives the try that falls on the end of a job's day or later as its last", () => {
    expect(planRetry(DAY - 10 * MINUTE - 1)).toMatchObject({ isLast: false });
    expect(planRetry(DAY - 10 * MINUTE)).toMatchObject({ isLast: true });
    expect(planRetry(3 * DAY)).toMatchObject({ isLast: true });
  });

  test("property: delays are whole seconds, never shorter for an older job, and at most ten minutes", () => {
    fc.assert(
      fc.property(fc.double({ min: 10 * MINUTE, max: 3 * DAY, noNaN: true }), fc.nat(DAY), (age, later) => {
        const delay = planRetry(age).retryAfterSeconds ?? NaN;
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(15);
        expect(delay).toBeLessThanOrEqual(10 * MINUTE);
        expect(planRetry(age + later).retryAfterSeconds).toBeGreaterThanOrEqual(delay);
      }),
    );
  });

  test("a job that fails at once each time has its last try after a day and within ten minutes of it, and some hundred in all", () => {
    let age = 10 * MINUTE;
    let tries = 0;
    for (;;) {
      const { retryAfterSeconds = NaN, isLast = false } = planRetry(age);
      age += retryAfterSeconds;
      tries++;
      if (isLast) break;
    }
    expect(age).toBeGreaterThanOrEqual(DAY);
    expect(age).toBeLessThanOrEqual(DAY + 10 * MINUTE);
    expect(tries).toBeGreaterThan(100);
    expect(tries).toBeLessThan(500);
  });
});
