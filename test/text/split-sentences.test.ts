import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { splitSentences } from "../../text/split-sentences.ts";

describe("splitSentences", () => {
  test.each([
    ["the marks of both languages", "I live in Oslo. Do you? Wow! 我住在上海。你呢？", "I live in Oslo.|Do you?|Wow!|我住在上海。|你呢？"],
    [
      "marks with quotation marks, brackets and emoji",
      'He said "Stop!" I did 😀. 他说“停！”我停了。',
      'He said "Stop!"|I did 😀.|他说“停！”|我停了。',
    ],
    ["marks with emoji behind them", "(Really?) Yes!😀 Good.", "(Really?)|Yes!😀|Good."],
    ["no mark inside numbers and addresses", "Version 2.5 of example.com/a?b=c costs $3.50 today.", null],
    ["no mark of titles, initials and abbreviations", "Dr. Hannah B. Whitfield met Mrs. Chen, e.g. at 7 p.m. on Friday.", null],
    ["no mark of a list's number", "1. Buy milk", null],
    ["an abbreviation before a capital letter", "We eat at 7 p.m. Then we go.", "We eat at 7 p.m.|Then we go."],
    [
      "a word or number that only ends like an abbreviation",
      "So do I. We live in 1990. Then it ends.",
      "So do I.|We live in 1990.|Then it ends.",
    ],
    ["a line break", "My name is Ada\nI live in Oslo\n\nbye then", "My name is Ada|I live in Oslo|bye then"],
    ["a line break between small letters", "i live in oslo\nmy dog is max", "i live in oslo|my dog is max"],
    ["no line break when the next line goes on", "I live\r\nin\nLisbon,\nPortugal", "I live in Lisbon, Portugal"],
    ["no line break behind a Chinese comma", "我叫小雯，\n住在杭州\n喜欢喝茶", "我叫小雯， 住在杭州|喜欢喝茶"],
    ["code blocks and lines without a word, left out", "Look:\n```ts\nconst answer = 42;\n```\n---\n| | |\nIt works.", "Look:|It works."],
    ["no code block that is not closed", "Unclosed ``` code 42.", null],
  ])("ends a sentence at %s", (_name, text, sentences) => expect(splitSentences(text)).toEqual((sentences ?? text).split("|")));

  test("finds none in a text without a word", () => expect(splitSentences(" \n…!? 😀\n")).toEqual([]));

  test("property: sentences are trimmed single lines of whole characters, at most 120", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\n", ". ", "。", "\r", "\u2028", "\u0000", "\t", "```", "a", "I", " ", "\ud83d"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const sentences = splitSentences(pieces.join(""));
        expect(sentences.length).toBeLessThanOrEqual(120);
        for (const sentence of sentences) {
          expect(sentence).toBe(sentence.trim());
          expect(sentence).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029]/u);
        }
      }),
    );
  });

  test("property: no word gets lost or changes its place", () => {
    const word = fc.constantFrom("I", "live", "in", "Oslo", "我住在", "上海", "Dr", "3", "p.m", "etc");
    const between = fc.constantFrom(" ", ". ", "? ", "。", "\n", "\n\n", ", ", "！");
    fc.assert(
      fc.property(fc.array(fc.tuple(word, between), { maxLength: 40 }), (pairs) => {
        const text = pairs.flat().join("");
        expect(splitSentences(text).join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, "").replace(/^[.?,。！]+/, ""));
      }),
    );
  });

  test("gives at most 120 sentences of a long text", () => {
    expect(splitSentences("a. ".repeat(3_000))).toHaveLength(120);
    expect(splitSentences("a\n".repeat(3_000)).length).toBeLessThanOrEqual(120);
  });
});
