import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { planRetry } from "../../../memory/jobs/run-jobs.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("planRetry", () => {
  test.each([-30, 0, 9 * MINUTE, 10 * MINUTE - 0.001])("leaves a job of %i seconds to the queue's own short delays", (age) =>
    expect(planRetry(age)).toEqual({}),
  );

  test.each([
    [10 * MINUTE, 15, false],
    [HOUR, 90, false],
    [4 * HOUR, 6 * MINUTE, false],
    [7 * HOUR, 10 * MINUTE, false],
    [DAY - 10 * MINUTE - 1, 10 * MINUTE, false],
    [DAY - 10 * MINUTE, 10 * MINUTE, true],
    [3 * DAY, 10 * MINUTE, true],
  ])("tries a job of %i seconds again after %i, for the last time: %p", (age, retryAfterSeconds, isLast) =>
    expect(planRetry(age)).toEqual({ retryAfterSeconds, isLast }),
  );

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

  test("gives a job that fails at once each time its last try within ten minutes of a day, and some hundred in all", () => {
    let [age, tries, isOver] = [10 * MINUTE, 0, false];
    while (!isOver) {
      const { retryAfterSeconds = NaN, isLast = false } = planRetry(age);
      [age, tries, isOver] = [age + retryAfterSeconds, tries + 1, isLast];
    }
    expect(age).toBeGreaterThanOrEqual(DAY);
    expect(age).toBeLessThanOrEqual(DAY + 10 * MINUTE);
    expect(tries).toBeGreaterThan(100);
    expect(tries).toBeLessThan(500);
  });
});
