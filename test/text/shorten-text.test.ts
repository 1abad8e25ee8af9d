import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { estimateTokens, shortenText } from "../../text/tokens.ts";
import { anyText } from "../support/samples/any-text.ts";

/** Enough room for the mark itself. */
const anyLimit = fc.integer({ min: 12, max: 2_000 });
const MARK = / \[…(\d+) characters left out…\] /u;

/** Long enough for any of the limits to cut it. */
const anyLongText = anyText.map((text) => `${text}the middle ${text}end`.repeat(3)).filter((text) => estimateTokens(text) > 40);

describe("shortenText", () => {
  test("property: never has more tokens than the limit", () => {
    fc.assert(fc.property(anyText, anyLimit, (text, limit) => estimateTokens(shortenText(text, limit)) <= limit));
  });

  test("property: gives a text that fits as it is", () => {
    fc.assert(fc.property(anyText, (text) => expect(shortenText(text, estimateTokens(text))).toBe(text)));
  });

  test("property: keeps characters whole", () => {
    fc.assert(fc.property(anyLongText, anyLimit, (text, limit) => shortenText(text, limit).isWellFormed()));
  });

  test("property: a shortened text is a beginning and an end of it, with a mark of how many characters are left out between", () => {
    fc.assert(
      fc.property(anyLongText, fc.integer({ min: 12, max: 39 }), (text, limit) => {
        const shortened = shortenText(text, limit);
        const [mark = "", count = ""] = MARK.exec(shortened) ?? [];
        expect(mark).not.toBe("");
        const at = shortened.indexOf(mark);
        const [head, tail] = [shortened.slice(0, at), shortened.slice(at + mark.length)];
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect([...head].length + [...tail].length + Number(count)).toBe([...text].length);
      }),
    );
  });

  test("uses most of the room it has", () => {
    for (const piece of ["word ", "导演", "😀"]) {
      const shortened = shortenText(piece.repeat(5_000), 1_000);
      expect(estimateTokens(shortened)).toBeGreaterThan(700);
      expect(estimateTokens(shortened)).toBeLessThanOrEqual(1_000);
    }
  });

  test("leaves the end out when there is no room for one of its characters", () => {
    expect(shortenText("😀".repeat(100), 13)).toBe(" […100 characters left out…] ");
  });

  test("keeps the question at the end", () => {
    const text = `${"Some long story. ".repeat(500)}So what should I do?`;
    expect(shortenText(text, 100)).toMatch(/So what should I do\?$/);
    expect(shortenText(text, 100)).toMatch(/^Some long story\./);
  });

  test("shortens a million characters quickly", () => {
    const began = performance.now();
    shortenText("导演 said ".repeat(100_000), 5_000);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
