import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type MatcherParts, strongMatcher } from "../../../memory/recall/relevance.ts";
import type { RankedHit } from "../../../memory/recall/rank-hits.ts";
import { lexicalQuery } from "../../../text/lexical-query.ts";

const AT = new Date("2024-06-01T12:00:00Z");
/** A hundred found: a word that one of them has weighs 4.2, and a word of a question counts four times. */
const HUNDRED: MatcherParts = { found: 100, query: lexicalQuery("explain transistor works"), minSimilarity: 0.5, time: null };

function ranked(words: number | null, cosine: number | null): RankedHit {
  const hit = { id: "a", score: 1, previousId: null, createdAt: AT, ownerKey: "owner", groupId: "group", attributes: {} };
  return { hit, score: 1, words, cosine };
}

describe("convincingBy", () => {
  test("a rare word of a short question is evidence, a common one is not", () => {
    expect(strongMatcher(HUNDRED)(ranked(4 * 4.2, null))).toBe(true);
    expect(strongMatcher(HUNDRED)(ranked(4 * 1.5, null))).toBe(false);
  });

  test("a single character of a Chinese question is none, even a rare one; a pair is", () => {
    const chinese = { ...HUNDRED, query: lexicalQuery("木头有几颗卫星？") };
    expect(strongMatcher(chinese)(ranked(4.2, null))).toBe(false);
    expect(strongMatcher(chinese)(ranked(4.2 * 6, null))).toBe(true);
  });

  test("a near meaning is evidence without a word, and rescues a common word", () => {
    expect(strongMatcher(HUNDRED)(ranked(null, 0.5))).toBe(true);
    expect(strongMatcher(HUNDRED)(ranked(1, 0.6))).toBe(true);
    expect(strongMatcher(HUNDRED)(ranked(null, 0.49))).toBe(false);
    expect(strongMatcher(HUNDRED)(ranked(null, null))).toBe(false);
  });

  test("being of the time that the question names is evidence", () => {
    const named = { from: new Date("2024-06-01"), until: new Date("2024-06-02") };
    expect(strongMatcher({ ...HUNDRED, time: named })(ranked(0.1, 0.1))).toBe(true);
    expect(strongMatcher({ ...HUNDRED, time: { ...named, until: AT } })(ranked(0.1, 0.1))).toBe(false);
  });

  test("any one word of four is evidence when only few episodes are there, as all words are rare or common at once", () => {
    const query = lexicalQuery("name colour sister bicycle");
    for (const found of [1, 2, 3, 5, 10]) {
      const idf = Math.log(1 + (found - 0.5) / 1.5);
      expect(strongMatcher({ ...HUNDRED, query, found })(ranked(4 * idf, null))).toBe(true);
    }
  });

  test("a message of a hundred words needs no more of them than a question of four", () => {
    const words = Array.from({ length: 100 }, (_, index) => `word${index}`).join(" ");
    const [long, four] = [words, words.split(" ").slice(0, 4).join(" ")].map((text) => ({ ...HUNDRED, query: lexicalQuery(text) }));
    for (const score of [8, 12])
      expect([long, four].map((parts) => strongMatcher(parts!)(ranked(score, null)))).toEqual(Array(2).fill(score > 10));
  });

  test("property: more of the question is never less evidence", () => {
    const score = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(score, score, fc.integer({ min: 0, max: 200 }), (one, more, found) => {
        const [less, both] = [ranked(one, null), ranked(one + more, null)].map((episode) => strongMatcher({ ...HUNDRED, found })(episode));
        expect(both || !less).toBe(true);
      }),
    );
  });
});
