import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { WindowMessage } from "../../../turn/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";
import { fitWindow } from "../../../nodes/prompt/fit-window.ts";
import { anyWindow, sampleWindow, windowMessage } from "../../support/samples/sample-window.ts";

const anyBudget = fc.integer({ min: -100, max: 3_000 });
/** What the mark of a shortened text can take: below, shortening cannot reach its limit. */
const MARK_TOKENS = 12;
const MARK = /\[…\d+ characters left out…\]/u;

const costOf = (window: WindowMessage[]): number => window.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
const words = (tokens: number): string => "wor ".repeat(tokens);

describe("fitWindow", () => {
  test("property: what fits is an unbroken run up to the newest message, in the same order, with the same ids and times", () => {
    fc.assert(
      fc.property(anyWindow, anyBudget, (window, budget) => {
        const { messages, shortened } = fitWindow(window, budget);
        const given = window.slice(window.length - messages.length);
        const bare = (message: WindowMessage): object => ({ ...message, content: "", tokenCount: 0 });
        expect(messages.map(bare)).toEqual(given.map(bare));
        expect(messages.filter(({ content }, index) => content !== given[index]?.content)).toHaveLength(shortened);
      }),
    );
  });

  test("property: never has more tokens than the budget, counted anew where a message is shortened", () => {
    fc.assert(
      fc.property(anyWindow, anyBudget, (window, budget) => {
        const { messages } = fitWindow(window, budget);
        expect(costOf(messages)).toBeLessThanOrEqual(Math.max(0, budget));
        for (const { content, tokenCount } of messages) expect(tokenCount).toBe(estimateTokens(content));
      }),
    );
  });

  test("property: a window that fits is given as it is", () => {
    fc.assert(fc.property(anyWindow, (window) => expect(fitWindow(window, costOf(window))).toEqual({ messages: window, shortened: 0 })));
  });

  test("property: one message more would be too many, even shortened", () => {
    fc.assert(
      fc.property(anyWindow, anyBudget, (window, budget) => {
        const { messages } = fitWindow(window, budget);
        const next = window.at(-messages.length - 1);
        if (!next) return;
        const most = Math.max(MARK_TOKENS, Math.floor(budget / 4) - TOKENS_PER_MESSAGE);
        expect(costOf(messages) + Math.min(next.tokenCount, most) + TOKENS_PER_MESSAGE).toBeGreaterThan(budget);
      }),
    );
  });

  test("property: a message of at most a quarter of the budget is never shortened", () => {
    fc.assert(
      fc.property(anyWindow, fc.integer({ min: 100, max: 3_000 }), (window, budget) => {
        const { messages } = fitWindow(window, budget);
        const small = window
          .slice(window.length - messages.length)
          .filter(({ tokenCount }) => tokenCount + TOKENS_PER_MESSAGE <= Math.floor(budget / 4));
        const contents = new Set(messages.map(({ content }) => content));
        expect(small.filter(({ content }) => !contents.has(content))).toEqual([]);
      }),
    );
  });

  test("shortens and marks large messages before any is dropped, and drops none when that is enough", () => {
    const window = sampleWindow(6, (number) => (number === 2 ? `begin ${words(900)}end` : `message ${number}`));
    const { messages, shortened } = fitWindow(window, 400);
    expect(shortened).toBe(1);
    expect(messages.map(({ id }) => id)).toEqual(window.map(({ id }) => id));
    expect(messages.filter((_, index) => index !== 1)).toEqual(window.filter((_, index) => index !== 1));
    expect(messages[1]?.content).toMatch(/^begin /);
    expect(messages[1]?.content).toMatch(MARK);
    expect(messages[1]?.content).toMatch(/end$/);
    expect(messages[1]?.tokenCount).toBeGreaterThan(60);
    expect(messages[1]?.tokenCount).toBeLessThanOrEqual(96);
  });

  test("drops the oldest when shortening is not enough, and counts as shortened only what stays", () => {
    const window = sampleWindow(10, () => words(200));
    const { messages, shortened } = fitWindow(window, 400);
    expect(messages.map(({ id }) => id)).toEqual(window.slice(-messages.length).map(({ id }) => id));
    expect(messages.length).toBeGreaterThanOrEqual(4);
    expect(messages.length).toBeLessThan(10);
    expect(shortened).toBe(messages.length);
  });

  test("leaves the window it was given as it was", () => {
    const window = [windowMessage("user", words(100))];
    const before = structuredClone(window);
    expect(fitWindow(window, 50).shortened).toBe(1);
    expect(fitWindow(window, 10)).toEqual({ messages: [], shortened: 0 });
    expect(window).toEqual(before);
    expect(fitWindow(window, 104)).toEqual({ messages: window, shortened: 0 });
  });

  test("without any room has nothing", () => {
    for (const room of [0, -1, -1_000]) expect(fitWindow(sampleWindow(3), room)).toEqual({ messages: [], shortened: 0 });
    expect(fitWindow([], 0)).toEqual({ messages: [], shortened: 0 });
  });
});
