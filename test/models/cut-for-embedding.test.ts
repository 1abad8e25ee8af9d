import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { truncateForEmbedding } from "../../models/openai-embedder.ts";
import { anyText } from "../support/samples/any-text.ts";

describe("cutForEmbedding", () => {
  test("gives a text that fits as it is", () => expect(truncateForEmbedding(" 我的 cat is grey. ")).toBe("我的 cat is grey."));

  test("keeps 400 words or 1,500 characters", () => {
    expect(truncateForEmbedding("word ".repeat(1_000)).split(" ")).toHaveLength(400);
    expect(truncateForEmbedding("导演".repeat(1_000))).toHaveLength(1_500);
    expect(truncateForEmbedding("𠮷".repeat(5_000))).toBe("𠮷".repeat(1_500));
  });

  test("counts a mixture together", () => {
    const cut = truncateForEmbedding(`${"word ".repeat(200)}${"导".repeat(2_000)}`);
    expect(cut.match(/导/g)).toHaveLength(750);
  });

  test("counts a long key as several words", () => expect(truncateForEmbedding("x".repeat(100_000)).length).toBeLessThan(4_000));

  test("property: is never empty, never half a character, never longer than a beginning of the text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const cut = truncateForEmbedding(text);
        expect(cut.trim()).not.toBe("");
        expect(cut.isWellFormed()).toBe(true);
        expect(cut === "." || text.toWellFormed().trim().startsWith(cut) || !text.isWellFormed()).toBe(true);
      }),
    );
  });
});
