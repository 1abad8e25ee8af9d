import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { WindowMessage } from "../../graph/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../models/estimate-tokens.ts";
import { assemblePrompt } from "../../nodes/assemble-prompt.ts";
import { anyText } from "../support/any-text.ts";

function windowMessage(role: "user" | "assistant", content: string): WindowMessage {
  return { id: crypto.randomUUID(), role, content, tokenCount: estimateTokens(content), createdAt: "2024-01-31T12:00:00.000Z" };
}

const anyWindow = fc.array(
  fc.tuple(fc.constantFrom("user" as const, "assistant" as const), anyText).map(([role, content]) => windowMessage(role, content)),
  { maxLength: 8 },
);
const anyBudget = fc.integer({ min: 256, max: 6_000 });
const NO_LIMIT = 10_000_000;

const tokensOf = (messages: BaseMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message.text) + TOKENS_PER_MESSAGE, 0);
const plain = (messages: BaseMessage[]): string[] => messages.map(({ type, text }) => `${type}: ${text}`);
const plainWindow = (window: WindowMessage[]): string[] =>
  window.map(({ role, content }) => `${role === "user" ? "human" : "ai"}: ${content}`);

describe("assemblePrompt", () => {
  test("property: never has more tokens than the budget, and says how many it has", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyBudget, (window, message, tokenBudget) => {
        const { messages, tokens } = assemblePrompt({ window, message, tokenBudget });
        expect(tokens).toBe(tokensOf(messages));
        expect(tokens).toBeLessThanOrEqual(tokenBudget);
      }),
    );
  });

  test("property: is the system text, then the newest of the window in order, then the current message", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyBudget, (window, message, tokenBudget) => {
        const { messages, leftOut, receipt } = assemblePrompt({ window, message, tokenBudget });
        expect(messages[0]).toBeInstanceOf(SystemMessage);
        expect(messages.at(-1)).toBeInstanceOf(HumanMessage);
        expect(plain(messages.slice(1, -1))).toEqual(plainWindow(window).slice(leftOut));
        expect(receipt).toEqual({
          summary: null,
          window_messages: window.length - leftOut,
          core_memory: [],
          episodes: [],
          passages: [],
        });
      }),
    );
  });

  test("property: ends with the current message, word for word when it fits, else its beginning and end", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyBudget, (window, message, tokenBudget) => {
        const last = assemblePrompt({ window, message, tokenBudget }).messages.at(-1)?.text ?? "";
        const mark = / \[…\d+ characters left out…\] /u.exec(last)?.[0];
        if (last === message) return;
        expect(mark).toBeDefined();
        const [head = "", tail = ""] = last.split(mark ?? "");
        expect(message.startsWith(head) && message.endsWith(tail)).toBe(true);
        expect(estimateTokens(message)).toBeGreaterThan((tokenBudget - 100) / 2);
      }),
    );
  });

  test("property: a message of half the budget is never shortened", () => {
    fc.assert(
      fc.property(anyWindow, anyText, (window, message) => {
        const tokenBudget = Math.max(256, 2 * estimateTokens(message) + 200);
        expect(assemblePrompt({ window, message, tokenBudget }).messages.at(-1)?.text).toBe(message);
      }),
    );
  });

  test("property: an earlier prompt is the beginning of the next one when nothing drops out of the window", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyText, anyText, (window, message, answer, nextMessage) => {
        const earlier = assemblePrompt({ window, message, tokenBudget: NO_LIMIT });
        const nextWindow = [...window, windowMessage("user", message), windowMessage("assistant", answer)];
        const next = assemblePrompt({ window: nextWindow, message: nextMessage, tokenBudget: NO_LIMIT });
        expect(plain(next.messages).slice(0, earlier.messages.length)).toEqual(plain(earlier.messages));
        expect(next.messages).toHaveLength(earlier.messages.length + 2);
      }),
    );
  });

  test("joins text of users as it is: nothing in it is expanded", () => {
    const odd = "$& $1 {name} {{name}} %s ${secret} \\n";
    const { messages } = assemblePrompt({
      window: [windowMessage("user", odd), windowMessage("assistant", odd)],
      message: odd,
      tokenBudget: 4_000,
    });
    expect(messages.slice(1).map(({ text }) => text)).toEqual([odd, odd, odd]);
    expect(messages[2]).toBeInstanceOf(AIMessage);
  });

  test("drops the oldest messages first and says how many", () => {
    const window = Array.from({ length: 6 }, (_, index) =>
      windowMessage(index % 2 === 0 ? "user" : "assistant", `${index} ${"word ".repeat(80)}`),
    );
    const { messages, leftOut } = assemblePrompt({ window, message: "now", tokenBudget: 450 });
    expect(leftOut).toBe(3);
    expect(messages.slice(1, -1).map(({ text }) => text[0])).toEqual(["3", "4", "5"]);
  });
});
