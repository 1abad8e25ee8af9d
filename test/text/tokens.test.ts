import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { estimateTokens, shortenText } from "../../text/tokens.ts";
import { anyText } from "../support/samples/any-text.ts";
import { splitSentences } from "../../text/split-sentences.ts";

const SAMPLES = {
  "English prose":
    "Yesterday I spoke with Dr. Hannah Whitfield about the quarterly budget; she thinks we should postpone the launch until March.",
  "Chinese prose": "昨天我和王导演谈了新电影的剧本，他觉得第二幕的节奏太慢，希望我们在下周三之前改好。顺便提醒我买两张去上海的火车票。",
  "mixed Chinese and English":
    "我下周要去 San Francisco 出差，please 帮我 check 一下 United 的航班，预算大概 5000 元左右，回来的时间 flexible。",
  German: "Gestern sprach ich mit der Geschäftsführerin über die Verlängerung des Mietvertrags; die Kündigungsfrist läuft übermorgen ab.",
  Japanese: "昨日、田中さんと新しいプロジェクトについて話しました。来週の水曜日までに資料を送ってください。",
  Korean: "어제 김 감독님과 새 영화 대본에 대해 이야기했어요. 다음 주 수요일까지 고쳐야 합니다.",
  Russian: "Вчера я разговаривал с режиссёром о новом сценарии, и он попросил исправить второй акт до среды.",
  Python: "def moving_average(values, size=3):\n    return [sum(values[i:i + size]) / size for i in range(len(values) - size + 1)]",
  JSON: '{"user_id":"ada","session_id":"s-1","message":"hello","timings":{"total_ms":12.5,"nodes":{"route":0.2,"history":3.1}}}',
  "text with emoji": "太好了🎉🎉 see you at 8 👋🏽 don't forget the cake 🎂 and the kids 👨‍👩‍👧‍👦!",
  "emoji alone": "😀😂🥰👍🎉🔥🚀✨🌈🐼🍜",
  numbers: "2024-01-31 12:45:09, 1,234,567.89 EUR, +49 30 1234567, 192.168.0.1",
};
describe("estimateTokens", () => {
  test.each(Object.entries(SAMPLES))("gives between 0.75 and 2 times the count of o200k_base for %s", (_name, text) => {
    const factor = estimateTokens(text) / encode(text).length;
    expect(factor).toBeGreaterThanOrEqual(0.75);
    expect(factor).toBeLessThanOrEqual(2);
  });

  test("gives for any text a whole number, 0 only for nothing, and for two texts joined at least each one's and at most the sum of both", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const [first, second, both] = [one, other, one + other].map(estimateTokens) as [number, number, number];
        expect(Number.isInteger(first)).toBe(true);
        expect(first > 0).toBe(one !== "");
        expect(both).toBeGreaterThanOrEqual(Math.max(first, second));
        expect(both).toBeLessThanOrEqual(first + second);
      }),
    );
  });
});
describe("shortenText", () => {
  /** Enough room for the mark itself. */
  const anyLimit = fc.integer({ min: 12, max: 2_000 });
  /** Long enough for any limit below 40 to cut it. */
  const anyLongText = anyText.map((text) => `${text}the middle ${text}end`.repeat(3)).filter((text) => estimateTokens(text) > 40);

  test("gives a text that fits as it is, and never more tokens than the limit or half a character, for any text", () => {
    fc.assert(
      fc.property(anyText, anyLongText, anyLimit, (text, long, limit) => {
        expect(shortenText(text, estimateTokens(text))).toBe(text);
        expect(estimateTokens(shortenText(text, limit))).toBeLessThanOrEqual(limit);
        expect(shortenText(long, limit).isWellFormed()).toBe(long.isWellFormed());
      }),
    );
  });

  test("gives the beginning and the end of any text, with a mark that says how many characters are left out between", () => {
    fc.assert(
      fc.property(anyLongText, fc.integer({ min: 12, max: 39 }), (text, limit) => {
        const shortened = shortenText(text, limit);
        const [mark = "", count = ""] = / \[…(\d+) characters left out…\] /u.exec(shortened) ?? [];
        expect(mark).not.toBe("");
        const at = shortened.indexOf(mark);
        const [head, tail] = [shortened.slice(0, at), shortened.slice(at + mark.length)];
        expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true]);
        expect([...head].length + [...tail].length + Number(count)).toBe([...text].length);
      }),
    );
  });

  test.each(["word ", "导演", "😀"])("uses most of its room for a text that repeats %j", (piece) => {
    const tokens = estimateTokens(shortenText(piece.repeat(5_000), 1_000));
    expect(tokens).toBeGreaterThan(700);
    expect(tokens).toBeLessThanOrEqual(1_000);
  });

  test("keeps the question at the end unless not even one character of it has room", () => {
    expect(shortenText(`${"Some long story. ".repeat(500)}So what should I do?`, 100)).toMatch(
      /^Some long story\..*So what should I do\?$/,
    );
    expect(shortenText("😀".repeat(100), 13)).toBe(" […100 characters left out…] ");
  });
});

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

  test("finds no sentence in a text without a word", () => expect(splitSentences(" \n…!? 😀\n")).toEqual([]));

  test("gives for any text single trimmed lines of whole characters, at most 120 of them", () => {
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

  test("loses and moves no word of any text", () => {
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
