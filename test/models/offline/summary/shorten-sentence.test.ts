import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { shortenSentence } from "../../../../models/offline/summary-candidates.ts";
import { estimateTokens } from "../../../../text/tokens.ts";

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom(" ", "word ", "导演", "😀", "…", "a"), fc.constantFrom("\ud83d", "1")),
  maxLength: 200,
});

describe("shortenSentence", () => {
  test("gives a sentence that fits as it is", () => {
    expect(shortenSentence("I live in Oslo.", 10)).toBe("I live in Oslo.");
  });

  test("keeps whole words of the beginning and says that there was more", () => {
    expect(shortenSentence("I live in a very old house near the harbour of Oslo.", 8)).toBe("I live in a very old house…");
    expect(shortenSentence("我住在港口旁边的一座很老的房子里。", 8)).toBe("我住在港口旁边…");
  });

  test("cuts a word that is too long by itself", () => {
    expect(shortenSentence("a".repeat(1_000), 10)).toMatch(/^a{30,40}…$/);
  });

  test("gives nothing when there is no room", () => {
    for (const tokens of [0, -1, 0.5]) expect(shortenSentence("I live in Oslo.", tokens)).toBe("");
  });

  test("property: never has more tokens than there is room for, and shortening again changes nothing", () => {
    fc.assert(
      fc.property(anyText, fc.double({ min: 0, max: 60, noNaN: true }), (text, tokens) => {
        const shortened = shortenSentence(text, tokens);
        expect(estimateTokens(shortened)).toBeLessThanOrEqual(tokens);
        expect(shortenSentence(shortened, tokens)).toBe(shortened);
      }),
    );
  });

  test("property: keeps the characters of well-formed text whole", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, tokens) => shortenSentence(text, tokens).isWellFormed()));
  });
});
