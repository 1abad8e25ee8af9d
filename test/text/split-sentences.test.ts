import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { splitSentences } from "../../text/split-sentences.ts";

describe("splitSentences", () => {
  test("ends a sentence at the marks of both languages, which stay with it", () => {
    expect(splitSentences("I live in Oslo. Do you? Wow! 我住在上海。你呢？好！")).toEqual([
      "I live in Oslo.",
      "Do you?",
      "Wow!",
      "我住在上海。",
      "你呢？",
      "好！",
    ]);
  });

  test("leaves quotation marks, brackets and emoji with the sentence they end", () => {
    expect(splitSentences('He said "Stop!" I did 😀. 他说“停！”我停了。(Really?) Yes!😀 Good.')).toEqual([
      'He said "Stop!"',
      "I did 😀.",
      "他说“停！”",
      "我停了。",
      "(Really?)",
      "Yes!😀",
      "Good.",
    ]);
  });

  test("ends no sentence inside numbers, addresses, titles, initials and abbreviations", () => {
    for (const sentence of [
      "Version 2.5 of example.com/a?b=c costs $3.50 today.",
      "Dr. Hannah B. Whitfield met Mrs. Chen, e.g. at 7 p.m. on Friday.",
      "1. Buy milk",
    ]) {
      expect(splitSentences(sentence)).toEqual([sentence]);
    }
    expect(splitSentences("We eat at 7 p.m. Then we go.")).toEqual(["We eat at 7 p.m.", "Then we go."]);
    expect(splitSentences("So do I. We both live in 1990. Then it ends.")).toHaveLength(3);
  });

  test("ends a sentence at a line break, unless the next line goes on with it", () => {
    expect(splitSentences("My name is Ada\nI live in Oslo\n\nbye then")).toEqual(["My name is Ada", "I live in Oslo", "bye then"]);
    expect(splitSentences("I live\r\nin\nLisbon,\nPortugal")).toEqual(["I live in Lisbon, Portugal"]);
    expect(splitSentences("i live in oslo\nmy dog is max")).toEqual(["i live in oslo", "my dog is max"]);
    expect(splitSentences("我叫小雯，\n住在杭州\n喜欢喝茶")).toEqual(["我叫小雯， 住在杭州", "喜欢喝茶"]);
  });

  test("leaves out code blocks and lines without a word", () => {
    expect(splitSentences("Look:\n```ts\nconst answer = 42;\n```\n---\n| | |\nIt works.")).toEqual(["Look:", "It works."]);
    expect(splitSentences("Unclosed ``` code 42.")).toEqual(["Unclosed ``` code 42."]);
    expect(splitSentences(" \n…!? 😀\n")).toEqual([]);
  });

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
