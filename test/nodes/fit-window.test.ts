import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { WindowMessage } from "../../graph/state.ts";
import { TOKENS_PER_MESSAGE } from "../../models/estimate-tokens.ts";
import { fitWindow } from "../../nodes/fit-window.ts";

const anyWindow: fc.Arbitrary<WindowMessage[]> = fc.array(
  fc.record({
    id: fc.uuid(),
    role: fc.constantFrom("user" as const, "assistant" as const),
    content: fc.string({ maxLength: 5 }),
    tokenCount: fc.nat({ max: 300 }),
    createdAt: fc.constant("2024-01-31T12:00:00.000Z"),
  }),
  { maxLength: 20 },
);
const anyBudget = fc.integer({ min: -100, max: 3_000 });

const costOf = (window: WindowMessage[]): number => window.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);

describe("fitWindow", () => {
  test("property: what fits is an unbroken run up to the newest message, in the same order", () => {
    fc.assert(
      fc.property(anyWindow, anyBudget, (window, budget) => {
        const fitting = fitWindow(window, budget);
        expect(fitting).toEqual(window.slice(window.length - fitting.length));
      }),
    );
  });

  test("property: never has more tokens than the budget", () => {
    fc.assert(fc.property(anyWindow, anyBudget, (window, budget) => costOf(fitWindow(window, budget)) <= Math.max(0, budget)));
  });

  test("property: one message more would be too many", () => {
    fc.assert(
      fc.property(anyWindow, anyBudget, (window, budget) => {
        const fitting = fitWindow(window, budget);
        fc.pre(fitting.length < window.length);
        expect(costOf(window.slice(window.length - fitting.length - 1))).toBeGreaterThan(budget);
      }),
    );
  });

  test("leaves the window it was given as it was", () => {
    const window: WindowMessage[] = [{ id: "1", role: "user", content: "long", tokenCount: 100, createdAt: "2024-01-31T12:00:00.000Z" }];
    expect(fitWindow(window, 10)).toEqual([]);
    expect(window).toHaveLength(1);
    expect(fitWindow(window, 104)).toEqual(window);
    expect(fitWindow(window, 103)).toEqual([]);
  });
});
