import { describe, expect, test } from "@jest/globals";
import { rankByWords, type WordMatches } from "../../../stores/search/postgres/word-ranking.ts";

const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** What a word of idf 1 scores alone where the average document has ten words. */
const ALONE = 2.2 / (1.3 + 0.9 / 10);

function matches(documents: string[], words = ["red", "tea"], weights = [1, 2]): WordMatches {
  return { words, weights: weights.map((weight) => weight * ALONE), per_word: 0.1, documents: documents.join("\n"), hits: null };
}

/** BM25 without idf, k1 1.2 and b 0.75. */
const saturated = (frequency: number, length = 10): number => (2.2 * frequency) / (frequency + 1.2 * (0.25 + (0.75 * length) / 10));

describe("rankByWords", () => {
  test("sums what each word weighs, less for each time it comes back and for a longer document", () => {
    const ranked = rankByWords(matches([`${id(1)} 10 'red':1A,3A,9A`, `${id(2)} 10 'red':2A 'tea':4A`, `${id(3)} 40 'tea':40A`]), 10);
    expect(ranked.map((hit) => hit.id)).toEqual([id(2), id(1), id(3)]);
    for (const [position, score] of [3 * saturated(1), saturated(3), 2 * saturated(1, 40)].entries())
      expect(ranked[position]?.score).toBeCloseTo(score, 10);
  });

  test("orders by id what scores the same, and gives no more than asked for", () => {
    const lines = [3, 1, 2].map((number) => `${id(number)} 10 'tea':1A`);
    expect(rankByWords(matches(lines), 2).map((hit) => hit.id)).toEqual([id(1), id(2)]);
  });

  test("reads words as Postgres writes them: quotes and backslashes are doubled, and a word may look like a place", () => {
    const words = ["o'brien", "a\\b", "x':1A"];
    const line = `${id(1)} 10 'a\\\\b':1A 'o''brien':2A 'x'':1A':3A`;
    const [hit] = rankByWords(matches([line], words, [1, 1, 1]), 1);
    expect(hit?.score).toBeCloseTo(3 * saturated(1), 10);
  });

  test.each([
    ["no word is known", { words: null, weights: null, per_word: null, documents: null, hits: null }],
    ["no document of the filter has one", { ...matches([]), documents: null }],
    ["a document has none of them after all", matches([`${id(1)} 10 `])],
  ])("finds nothing when %s", (_, row) => expect(rankByWords(row, 5)).toEqual([]));
});
