import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineSummary, shortenSentence } from "../../../models/offline/offline-summary.ts";
import { estimateTokens } from "../../../text/tokens.ts";

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

describe("an offline summary of anything", () => {
  const pieces = [
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
  ];
  const anyContent = fc
    .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...pieces)), { maxLength: 12 })
    .map((parts) => parts.join(""));
  const anyMessages = fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: anyContent }), {
    maxLength: 8,
  });
  const anyLimit = fc.integer({ min: 0, max: 300 });

  test("property: has at most so many tokens, on lines of well-formed text, and is the same again", () => {
    fc.assert(
      fc.property(fc.option(anyContent), anyMessages, anyLimit, (previous, messages, maxTokens) => {
        const summary = offlineSummary({ previous, messages, maxTokens });
        expect(estimateTokens(summary)).toBeLessThanOrEqual(maxTokens);
        expect(summary).not.toMatch(/[^\P{Cc}\n]|[\p{Cs}\u2028\u2029]|\n\n/u);
        expect(offlineSummary({ previous, messages: structuredClone(messages), maxTokens })).toBe(summary);
      }),
    );
  });

  test("property: in steps, every line names a speaker, whose words stay within a quarter", () => {
    fc.assert(
      fc.property(anyMessages, fc.integer({ min: 1, max: 3 }), anyLimit, (messages, step, maxTokens) => {
        for (const line of inSteps(messages, step, maxTokens).split("\n").filter(Boolean)) {
          const [, sentence = ""] = /^- (?:User: |Assistant: |用户：|助手：)(\S.*)/u.exec(line) ?? [];
          expect(sentence).not.toBe("");
          expect(estimateTokens(sentence)).toBeLessThanOrEqual(maxTokens / 4);
        }
      }),
    );
  });

  test("of 200 messages of 60 words takes less than 50 ms", () => {
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

  test.each([...' \na.。?十《9"', "a\n", "a. ", "我住在", "```", "I ", "I Aa,", "- User: ", "\ud83d", "😀", "a-"])(
    "gets through a million characters of %j quickly",
    (unit) => {
      const content = unit.repeat(Math.ceil(1_000_000 / unit.length));
      const began = performance.now();
      const summary = summaryOf([user(content), assistant(content)], 500, content);
      expect(performance.now() - began).toBeLessThan(2_000);
      expect(estimateTokens(summary)).toBeLessThanOrEqual(500);
    },
  );
});

describe("shortenSentence", () => {
  test.each([
    ["gives a sentence that fits as it is", "I live in Oslo.", 10, "I live in Oslo."],
    ["keeps whole words", "I live in a very old house near the harbour of Oslo.", 8, "I live in a very old house…"],
    ["keeps Chinese characters", "我住在港口旁边的一座很老的房子里。", 8, "我住在港口旁边…"],
    ["cuts a word that is too long by itself", "a".repeat(1_000), 10, `${"a".repeat(38)}…`],
    ["gives nothing when there is no room", "I live in Oslo.", 0.5, ""],
    ["gives nothing for less than no room", "I live in Oslo.", -1, ""],
  ])("%s", (_name, sentence, tokens, shortened) => expect(shortenSentence(sentence, tokens)).toBe(shortened));

  test("property: has no more tokens than there is room for, no half characters, and is the same when it is shortened again", () => {
    const anyText = fc.string({ unit: fc.constantFrom(" ", "word ", "导演", "😀", "…", "a", "1"), maxLength: 200 });
    fc.assert(
      fc.property(anyText, fc.double({ min: 0, max: 60, noNaN: true }), (text, tokens) => {
        const shortened = shortenSentence(text, tokens);
        expect(estimateTokens(shortened)).toBeLessThanOrEqual(tokens);
        expect(shortened.isWellFormed()).toBe(true);
        expect(shortenSentence(shortened, tokens)).toBe(shortened);
      }),
    );
  });
});
