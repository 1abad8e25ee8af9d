import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { fitWindow } from "../../prompt/fit-window.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../text/tokens.ts";
import type { WindowMessage } from "../../turn/state.ts";
import { anyWindow, sampleWindow, windowMessage } from "../support/samples/sample-window.ts";

/** Tokens of the mark of a shortened text: below, shortening cannot reach its limit. */
const MARK_TOKENS = 12;
const costOf = (window: WindowMessage[]): number => window.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
const words = (tokens: number): string => "wor ".repeat(tokens);

describe("fitWindow", () => {
  test("gives as many of the newest messages as fit, in order, shortens none within a quarter of the budget and counts anew, for any window", () => {
    fc.assert(
      fc.property(anyWindow, fc.integer({ min: -100, max: 3_000 }), (window, budget) => {
        expect(fitWindow(window, costOf(window))).toEqual({ messages: window, shortened: 0 });
        const { messages, shortened } = fitWindow(window, budget);
        const given = window.slice(window.length - messages.length);
        const bare = (message: WindowMessage): object => ({ ...message, content: "", tokenCount: 0 });
        expect(messages.map(bare)).toEqual(given.map(bare));
        const changed = given.filter(({ content }, index) => content !== messages[index]?.content);
        expect(changed).toHaveLength(shortened);
        const quarter = Math.floor(budget / 4) - TOKENS_PER_MESSAGE;
        expect(changed.filter(({ tokenCount }) => tokenCount <= quarter)).toEqual([]);

        expect(costOf(messages)).toBeLessThanOrEqual(Math.max(0, budget));
        for (const { content, tokenCount } of messages) expect(tokenCount).toBe(estimateTokens(content));
      }),
    );
  });

  test("gives at least as many messages in more room, for any window", () => {
    fc.assert(
      fc.property(anyWindow, fc.integer({ min: 80, max: 3_000 }), fc.nat(500), (window, budget, more) => {
        expect(fitWindow(window, budget + more).messages.length).toBeGreaterThanOrEqual(fitWindow(window, budget).messages.length);
      }),
    );
  });

  test("leaves out no message of any window for which there is a quarter of the room, or its own size", () => {
    fc.assert(
      fc.property(anyWindow, fc.integer({ min: 80, max: 3_000 }), (window, budget) => {
        const { messages } = fitWindow(window, budget);
        const next = window.at(-messages.length - 1);
        if (!next) return;
        const quarter = Math.floor(budget / 4);
        const taken = [next, ...window.slice(window.length - messages.length)].reduce((sum, { tokenCount }) => {
          return sum + Math.min(tokenCount + TOKENS_PER_MESSAGE, Math.max(quarter, MARK_TOKENS + TOKENS_PER_MESSAGE));
        }, 0);
        expect(taken).toBeGreaterThan(4 * quarter - 4);
      }),
    );
  });

  test("shortens and marks large messages before it drops any, and drops none when that is enough", () => {
    const window = sampleWindow(6, (number) => (number === 2 ? `begin ${words(900)}end` : `message ${number}`));
    const { messages, shortened } = fitWindow(window, 400);
    expect(shortened).toBe(1);
    expect(messages.toSpliced(1, 1)).toEqual(window.toSpliced(1, 1));
    expect(messages[1]?.id).toBe(window[1]?.id);
    expect(messages[1]?.content).toMatch(/^begin [^]*\[…\d+ characters left out…\][^]*end$/u);
    expect(messages[1]?.tokenCount).toBeGreaterThan(60);
    expect(messages[1]?.tokenCount).toBeLessThanOrEqual(96);
  });

  test("does not change the window it was given", () => {
    const window = [windowMessage("user", words(100))];
    const before = structuredClone(window);
    expect(fitWindow(window, 50).shortened).toBe(1);
    expect(fitWindow(window, 10)).toEqual({ messages: [], shortened: 0 });
    expect(window).toEqual(before);
    expect(fitWindow(window, 104)).toEqual({ messages: window, shortened: 0 });
  });
});
