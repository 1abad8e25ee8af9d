import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { promptBudgets, type PromptNeeds, shareOut } from "../../prompt/budgets.ts";
import { DEFAULT_SHARES } from "../../turn/context.ts";

const tokens = fc.nat(20_000);
const anyNeeds: fc.Arbitrary<PromptNeeds> = fc.record({
  system: fc.integer({ min: 60, max: 80 }),
  instructions: tokens,
  core_memory: tokens,
  summary: tokens,
  message: tokens,
  continued: tokens,
  attachments: tokens,
  episodes: tokens,
  passages: tokens,
  window: tokens,
});
const anyShares = fc
  .record({ system: fc.integer({ min: 1, max: 30 }), history: fc.integer({ min: 1, max: 40 }), recent: fc.integer({ min: 1, max: 20 }) })
  .map((shares) => ({ ...shares, output: 100 - shares.system - shares.history - shares.recent }));
const anyLimit = fc.integer({ min: 256, max: 60_000 });
const sumOf = (parts: object): number => Object.values(parts).reduce<number>((sum, part) => sum + (part as number), 0);

describe("the budgets of a prompt", () => {
  test("are together at most the limit for any needs, and each at most what its part needs", () => {
    fc.assert(
      fc.property(anyLimit, anyNeeds, anyShares, (limit, needs, shares) => {
        const budgets = promptBudgets(limit, needs, shares);
        expect(sumOf(budgets)).toBeLessThanOrEqual(limit);
        for (const [part, budget] of Object.entries(budgets)) expect(budget).toBeLessThanOrEqual(needs[part as keyof PromptNeeds]);
      }),
    );
  });

  test("are what the parts need when that fits, with three quarters for the message and their shares for stable parts, for any needs", () => {
    fc.assert(
      fc.property(anyNeeds, anyShares, fc.nat(10_000), (needs, shares, more) => {
        const { system, instructions, core_memory, summary, message } = needs;
        const stable = (system + instructions + core_memory + summary) / ((shares.system + shares.history) / (100 - shares.output));
        const limit = Math.ceil(Math.max(sumOf(needs), system + message / 0.75, stable)) + 1 + more;
        expect(promptBudgets(limit, needs, shares)).toEqual(needs);
      }),
    );
  });

  test("never become less when the limit becomes more, for any needs", () => {
    fc.assert(
      fc.property(anyLimit, fc.nat(5_000), anyNeeds, (limit, more, needs) => {
        const smaller = promptBudgets(limit, needs);
        const larger = promptBudgets(limit + more, needs);
        for (const part of Object.keys(smaller) as (keyof PromptNeeds)[]) expect(larger[part]).toBeGreaterThanOrEqual(smaller[part]);
      }),
    );
  });

  test("stay the same for parts that stay the same from turn to turn, whatever changes beside them", () => {
    fc.assert(
      fc.property(anyLimit, anyNeeds, anyNeeds, anyShares, (limit, needs, others, shares) => {
        const { system, instructions, core_memory, summary } = needs;
        const free = Math.floor((limit * shares.recent) / (100 - shares.output));
        const next = { ...others, system, instructions, core_memory, summary, message: Math.min(others.message, free) };
        const given = promptBudgets(limit, { ...needs, message: Math.min(needs.message, free) }, shares);
        const { instructions: same, core_memory: known, summary: summarised } = promptBudgets(limit, next, shares);
        expect([same, known, summarised]).toEqual([given.instructions, given.core_memory, given.summary]);
      }),
    );
  });

  test("never cut the message unless it alone is longer than three quarters of what the system prompt leaves", () => {
    fc.assert(
      fc.property(anyLimit, anyNeeds, (limit, needs) => {
        const most = Math.floor((limit - needs.system) * 0.75);
        expect(promptBudgets(limit, needs).message).toBe(Math.min(needs.message, most));
      }),
    );
  });

  test("are 10, 50 and 25 parts of 85 when every part needs all, and leave the rest to the answer", () => {
    const all = 100_000;
    const needs = { system: 0, instructions: all, core_memory: all, summary: all, message: 0, continued: 0, attachments: 0 };
    const budgets = promptBudgets(8_500, { ...needs, episodes: all, passages: all, window: all });
    const history = budgets.core_memory + budgets.summary + budgets.episodes + budgets.passages;
    expect(sumOf(DEFAULT_SHARES)).toBe(100);
    expect(budgets.instructions / 8_500).toBeCloseTo(0.1765, 2);
    expect(history / 8_500).toBeCloseTo(0.66, 1);
    expect(budgets.window).toBeGreaterThan(1_300);
  });

  test("give what a part does not need to the others by their weights", () => {
    const parts = { a: { need: 10, weight: 1 }, b: { need: 1_000, weight: 1 }, c: { need: 1_000, weight: 2 } };
    expect(shareOut(310, parts)).toEqual({ a: 10, b: 100, c: 200 });
    expect(shareOut(0, parts)).toEqual({ a: 0, b: 0, c: 0 });
  });
});
