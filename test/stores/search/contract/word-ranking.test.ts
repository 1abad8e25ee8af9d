import { describe, expect, test } from "@jest/globals";
import { rankByWords, type WordCandidate, type WordStatistics } from "../../../../stores/search/contract/word-ranking.ts";

const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** 100 documents of ten words each. */
const STATISTICS: WordStatistics = {
  documents: 100,
  words: 1_000,
  asked: [
    { word: "red", weight: 1, documents: 50 },
    { word: "tea", weight: 2, documents: 4 },
  ],
};

function candidate(number: number, length: number, frequencies: Record<string, number>): WordCandidate {
  return { id: id(number), length, frequencies: Object.entries(frequencies) };
}

/** BM25 by its formula, k1 1.2 and b 0.75. */
function bm25(having: number, frequency: number, length = 10): number {
  return (Math.log(1 + (100 - having + 0.5) / (having + 0.5)) * 2.2 * frequency) / (frequency + 1.2 * (0.25 + (0.75 * length) / 10));
}

describe("rankByWords", () => {
  test("sums what each word weighs, less for each time it comes back and for a longer document", () => {
    const candidates = [candidate(1, 10, { red: 3 }), candidate(2, 10, { red: 1, tea: 1 }), candidate(3, 40, { tea: 1 })];
    const ranked = rankByWords(STATISTICS, candidates, 10);
    expect(ranked.map((hit) => hit.id)).toEqual([id(2), id(3), id(1)]);
    for (const [position, score] of [bm25(50, 1) + 2 * bm25(4, 1), 2 * bm25(4, 1, 40), bm25(50, 3)].entries())
      expect(ranked[position]?.score).toBeCloseTo(score, 10);
  });

  test("orders by id what scores the same, and gives no more than asked for", () => {
    const candidates = [3, 1, 2].map((number) => candidate(number, 10, { tea: 1 }));
    expect(rankByWords(STATISTICS, candidates, 2).map((hit) => hit.id)).toEqual([id(1), id(2)]);
  });

  test("a word counts a little even when every document has it, or when more are counted than there are", () => {
    const everywhere = (having: number): WordStatistics => ({ ...STATISTICS, asked: [{ word: "red", weight: 1, documents: having }] });
    expect(rankByWords(everywhere(100), [candidate(1, 10, { red: 1 })], 1)[0]?.score).toBeGreaterThan(0);
    expect(rankByWords(everywhere(101), [candidate(1, 10, { red: 1 })], 1)).toEqual([]);
  });

  test("leaves out a candidate that has none of the words after all", () => {
    expect(rankByWords(STATISTICS, [candidate(1, 10, {})], 5)).toEqual([]);
  });
});
