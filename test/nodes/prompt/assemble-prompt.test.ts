import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { WindowMessage } from "../../../turn/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";
import { assemblePrompt } from "../../../nodes/prompt/assemble-prompt.ts";
import { anyText } from "../../support/samples/any-text.ts";
import { anySummary, anyWindow, windowMessage } from "../../support/samples/sample-window.ts";

const anyBudget = fc.integer({ min: 256, max: 6_000 });
const NO_LIMIT = 10_000_000;
const MARK = / \[…\d+ characters left out…\] /u;

const tokensOf = (messages: BaseMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message.text) + TOKENS_PER_MESSAGE, 0);
const plain = (messages: BaseMessage[]): string[] => messages.map(({ type, text }) => `${type}: ${text}`);
const plainWindow = (window: WindowMessage[]): string[] =>
  window.map(({ role, content }) => `${role === "user" ? "human" : "ai"}: ${content}`);

/** Whether `given` is the text itself, or its beginning and end around a mark. */
function isShortenedFrom(text: string, given: string): boolean {
  if (given === text) return true;
  const mark = MARK.exec(given);
  if (!mark) return false;
  return text.startsWith(given.slice(0, mark.index)) && text.endsWith(given.slice(mark.index + mark[0].length));
}

describe("assemblePrompt", () => {
  test("property: never has more tokens than the budget, whatever the summary, and says how many it has", () => {
    fc.assert(
      fc.property(anySummary, anyWindow, anyText, anyBudget, (summary, window, message, tokenBudget) => {
        const { messages, tokens, receipt } = assemblePrompt({ summary, window, message, tokenBudget });
        // Each part is rounded up by itself, and a blank line stands between two.
        expect(tokens).toBeGreaterThanOrEqual(tokensOf(messages));
        expect(tokens).toBeLessThanOrEqual(tokensOf(messages) + 2);
        expect(Object.values(receipt.prompt_tokens ?? {}).reduce((sum, part) => sum + part, 0)).toBe(tokens);
        expect(tokens).toBeLessThanOrEqual(tokenBudget);
      }),
    );
  });

  test("property: is the system text, then the newest of the window in order, then the current message", () => {
    fc.assert(
      fc.property(anySummary, anyWindow, anyText, anyBudget, (summary, window, message, tokenBudget) => {
        const { messages, leftOut, shortened, receipt } = assemblePrompt({ summary, window, message, tokenBudget });
        expect(messages[0]).toBeInstanceOf(SystemMessage);
        expect(messages.at(-1)).toBeInstanceOf(HumanMessage);
        const whole = plainWindow(window).slice(leftOut.messages);
        const given = plain(messages.slice(1, -1));
        expect(given).toHaveLength(whole.length);
        expect(given.filter((text, index) => !isShortenedFrom(whole[index] ?? "", text))).toEqual([]);
        const current = messages.at(-1)?.text === message ? 0 : 1;
        expect(given.filter((text, index) => text !== whole[index])).toHaveLength(shortened - current);
        expect(receipt).toEqual({
          summary: summary && { version: summary.version, covered_message_count: summary.coveredMessageCount },
          window_messages: window.length - leftOut.messages,
          core_memory: [],
          episodes: [],
          passages: [],
          prompt_tokens: expect.objectContaining({ core_memory: 0, episodes: 0, passages: 0 }),
        });
      }),
    );
  });

  test("property: ends with the current message, word for word when it fits, else its beginning and end", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyBudget, (window, message, tokenBudget) => {
        const last = assemblePrompt({ summary: null, window, message, tokenBudget }).messages.at(-1)?.text ?? "";
        if (last === message) return;
        expect(isShortenedFrom(message, last)).toBe(true);
        expect(estimateTokens(message)).toBeGreaterThan((tokenBudget - 100) / 2);
      }),
    );
  });

  test("property: a message of half the budget is never shortened", () => {
    fc.assert(
      fc.property(anyWindow, anyText, (window, message) => {
        const tokenBudget = Math.max(256, 2 * estimateTokens(message) + 200);
        expect(assemblePrompt({ summary: null, window, message, tokenBudget }).messages.at(-1)?.text).toBe(message);
      }),
    );
  });

  test("property: an earlier prompt is the beginning of the next one while the summary stays and all of the window fits", () => {
    fc.assert(
      fc.property(anySummary, anyWindow, anyText, anyText, anyText, (summary, window, message, answer, nextMessage) => {
        const earlier = assemblePrompt({ summary, window, message, tokenBudget: NO_LIMIT });
        const nextWindow = [...window, windowMessage("user", message), windowMessage("assistant", answer)];
        const next = assemblePrompt({ summary, window: nextWindow, message: nextMessage, tokenBudget: NO_LIMIT });
        expect(plain(next.messages).slice(0, earlier.messages.length)).toEqual(plain(earlier.messages));
        expect(next.messages).toHaveLength(earlier.messages.length + 2);
      }),
    );
  });

  test("joins text of users as it is: nothing in it is expanded", () => {
    const odd = "$& $1 {name} {{name}} %s ${secret} \\n";
    const { messages } = assemblePrompt({
      summary: null,
      window: [windowMessage("user", odd), windowMessage("assistant", odd)],
      message: odd,
      tokenBudget: 4_000,
    });
    expect(messages.slice(1).map(({ text }) => text)).toEqual([odd, odd, odd]);
    expect(messages[2]).toBeInstanceOf(AIMessage);
  });

  test("drops the oldest messages first and says how many", () => {
    const window = Array.from({ length: 12 }, (_, index) =>
      windowMessage(index % 2 === 0 ? "user" : "assistant", `${index} ${"word ".repeat(40)}`),
    );
    const { messages, leftOut, shortened, receipt } = assemblePrompt({ summary: null, window, message: "now", tokenBudget: 450 });
    const kept = messages.slice(1, -1).map(({ text }) => Number.parseInt(text, 10));
    expect(leftOut).toEqual({ messages: 12 - kept.length, uncovered: 12 - kept.length });
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.length).toBeLessThan(12);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 12 - kept.length + index));
    expect(shortened).toBe(0);
    expect(receipt.window_messages).toBe(kept.length);
  });
});
