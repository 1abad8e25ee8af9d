import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineSummary } from "../../../../models/offline/offline-summary.ts";
import { estimateTokens } from "../../../../text/tokens.ts";

type Message = Parameters<typeof offlineSummary>[0]["messages"][number];

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
const summaryOf = (messages: Message[], maxTokens = 400, previous: string | null = null) =>
  offlineSummary({ previous, messages, maxTokens });

/** The last summary when the messages come in steps. */
function inSteps(messages: Message[], step: number, maxTokens: number): string {
  let previous: string | null = null;
  for (let start = 0; start < messages.length; start += step)
    previous = summaryOf(messages.slice(start, start + step), maxTokens, previous);
  return previous ?? "";
}

const piece = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "I live in Oslo. ",
    "我住在上海。",
    "\n- Assistant: ",
    "\n- 用户：",
    "Why? ",
    "thanks ",
    "TK-4471 ",
    "\ud83d",
    "```",
    "<tag>",
    "😀",
    "on Friday, ",
  ),
);
const anyContent = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const anyMessages = fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: anyContent }), {
  maxLength: 8,
});
const anyPrevious = fc.option(anyContent);
const anyLimit = fc.integer({ min: 0, max: 300 });

describe("an offline summary of anything", () => {
  test("property: has at most so many tokens, on lines of well-formed text", () => {
    fc.assert(
      fc.property(anyPrevious, anyMessages, anyLimit, (previous, messages, maxTokens) => {
        const summary = offlineSummary({ previous, messages, maxTokens });
        expect(estimateTokens(summary)).toBeLessThanOrEqual(maxTokens);
        expect(summary).not.toMatch(/[^\P{Cc}\n]|[\p{Cs}\u2028\u2029]|\n\n/u);
      }),
    );
  });

  test("property: is the same for the same input", () => {
    fc.assert(
      fc.property(anyPrevious, anyMessages, anyLimit, (previous, messages, maxTokens) => {
        const again = { previous, messages: messages.map((message) => ({ ...message })), maxTokens };
        expect(offlineSummary({ previous, messages, maxTokens })).toBe(offlineSummary(again));
      }),
    );
  });

  test("property: in steps, every line stays within its quarter and names a speaker", () => {
    fc.assert(
      fc.property(anyMessages, fc.integer({ min: 1, max: 3 }), anyLimit, (messages, step, maxTokens) => {
        const summary = inSteps(messages, step, maxTokens);
        expect(estimateTokens(summary)).toBeLessThanOrEqual(maxTokens);
        for (const line of summary === "" ? [] : summary.split("\n")) {
          expect(line).toMatch(/^- (?:User: |Assistant: |用户：|助手：)\S/);
          expect(estimateTokens(line.replace(/^- (?:User: |Assistant: |用户：|助手：)/, ""))).toBeLessThanOrEqual(maxTokens / 4);
        }
      }),
    );
  });

  test("summarises 200 messages of 60 words in less than 50 ms", () => {
    const words = "then my wife and I went to Porto in 1990, which she liked a lot. ".repeat(4);
    const messages = Array.from({ length: 200 }, (_, index) =>
      (index % 2 ? assistant : user)(`Turn ${index}: ${words.replaceAll("Porto", `Porto${index}`)}`),
    );
    const times = Array.from({ length: 20 }, () => {
      const began = performance.now();
      summaryOf(messages, 1_000);
      return performance.now() - began;
    });
    expect(Math.min(...times)).toBeLessThan(50);
  });

  test.each([
    "a",
    ".",
    "?!",
    " ",
    "\n",
    "a\n",
    "a. ",
    "。",
    "我住在",
    "十",
    "《",
    "`",
    "```",
    "I ",
    "I Aa,",
    "- User: ",
    "\ud83d",
    "😀",
    "a-",
    "9",
    '"',
  ])("gets through a million characters of %j quickly", (unit) => {
    const content = unit.repeat(Math.ceil(1_000_000 / unit.length));
    const began = performance.now();
    const summary = summaryOf([user(content), assistant(content)], 500, content);
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(estimateTokens(summary)).toBeLessThanOrEqual(500);
  });
});
