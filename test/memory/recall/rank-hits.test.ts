import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type HitsToRank, loadBest, rankHits, type RankingWeights } from "../../../memory/recall/rank-hits.ts";
import type { SearchHit } from "../../../stores/search/contract/search-index.ts";

const NOW = new Date("2024-06-01T12:00:00Z");
const DAY_MS = 86_400_000;
const OFF = { neighbourOfOwn: 0, neighbourMeaning: 0, span: 0 };
const ALONE: RankingWeights = { ...OFF, vector: 0, neighbour: 0, wordless: 1, time: 0, importance: 0, recency: 0 };
const WEIGHTS: RankingWeights = { ...ALONE, vector: 0.25, neighbour: 0.2, neighbourOfOwn: 1.5, time: 4, importance: 0.2, recency: 0.1 };

function hit(id: string, score: number, { previousId = "", daysAgo = 10, minutesLater = 0, importance = 0.5 } = {}): SearchHit {
  const createdAt = new Date(NOW.getTime() - daysAgo * DAY_MS + minutesLater * 60_000);
  return {
    id,
    score,
    script: "other",
    previousId: previousId || null,
    createdAt,
    ownerKey: "owner",
    groupId: "group",
    attributes: { importance },
  };
}

const rank = (parts: Partial<HitsToRank>) => rankHits({ wordHits: [], vectorHits: [], weights: WEIGHTS, now: NOW, time: null, ...parts });
const order = (parts: Partial<HitsToRank>): string[] => rank(parts).map(({ hit: { id } }) => id);
/** Finds the score of a hit by its id, ranked with these weights alone. */
function scoresWith(weights: Partial<RankingWeights>, parts: Partial<HitsToRank>): (id: string) => number {
  const scores = new Map(rank({ ...parts, weights: { ...ALONE, ...weights } }).map((one) => [one.hit.id, one.score]));
  return (id) => scores.get(id) ?? Number.NaN;
}

describe("rankHits", () => {
  test("gives nothing for nothing, and with one leg missing keeps the other's order, equals by id", () => {
    expect(rank({})).toEqual([]);
    const hits = [hit("a", 9), hit("b", 5), hit("c", 1)];
    expect(order({ wordHits: hits })).toEqual(["a", "b", "c"]);
    expect(order({ vectorHits: hits.map((one) => ({ ...one, score: one.score / 10 })) })).toEqual(["a", "b", "c"]);
    expect(order({ wordHits: ["c", "a", "d", "b"].map((id) => hit(id, 3)) })).toEqual(["a", "b", "c", "d"]);
  });

  test("leaves differences between the others when one hit is far above them by words", () => {
    const wordHits = [hit("rare", 100), ...Array.from({ length: 9 }, (_, index) => hit(`other-${index}`, 10 - index))];
    const ranked = rank({ wordHits, weights: ALONE });
    expect(ranked[0]?.hit.id).toBe("rare");
    expect((ranked[1]?.score ?? 0) - (ranked[9]?.score ?? 0)).toBeGreaterThan(0.6); // 0.28 by BM25 itself
  });

  test("says what each leg gave, and null where an episode was not among its hits", () => {
    const ranked = rank({ wordHits: [hit("a", 9), hit("b", 5)], vectorHits: [hit("b", 0.9), hit("c", 0.4)] });
    const legs = Object.fromEntries(ranked.map(({ hit: { id }, words, nearness }) => [id, [words, nearness]]));
    expect(legs).toEqual({ a: [9, null], b: [5, 0.9], c: [null, 0.4] });
  });

  test("counts vectors at the weight of their embedder, whatever the scale of the words' scores", () => {
    const vectorHits = [hit("vectors", 0.9), hit("both", 0.5), hit("words", 0.1)];
    for (const scale of [1, 1_000]) {
      const wordHits = [hit("words", 10 * scale), hit("both", 6 * scale), hit("vectors", 2 * scale)];
      expect(order({ wordHits, vectorHits, weights: { ...ALONE, vector: 0.25 } })).toEqual(["words", "both", "vectors"]);
      expect(order({ wordHits, vectorHits, weights: { ...ALONE, vector: 3 } })).toEqual(["vectors", "both", "words"]);
      expect(scoresWith({ vector: 1 }, { wordHits, vectorHits })("both")).toBeCloseTo(0.149783, 6);
    }
  });

  test("gives neighbours nothing where they are near the question by chance alone", () => {
    const cosines = { alike: [9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1], apart: [9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1] };
    const gain = (scores: number[]): number => {
      const vectorHits = scores.map((score, place) => hit(`v${place}`, score / 10, { previousId: place > 0 ? `v${place - 1}` : "" }));
      const wordHits = [hit("best", 10, { previousId: "before" }), hit("before", 3), hit("alone", 3)];
      const scoreOf = scoresWith({ neighbour: 0.5, neighbourOfOwn: 1.5 }, { wordHits, vectorHits });
      return scoreOf("before") - scoreOf("alone");
    };
    expect(gain(cosines.alike)).toBeGreaterThan(0.1);
    expect(gain(cosines.apart)).toBeCloseTo(0, 9);
  });

  test("gives what was said right before or after a hit a share of its words, in proportion to its own", () => {
    const neighbours = [hit("before", 1), hit("after", 1, { previousId: "best" }), hit("apart", 1)];
    const parts = {
      wordHits: [hit("best", 10, { previousId: "before" }), ...neighbours],
      vectorHits: [hit("bare", 0.5, { previousId: "after" })],
    };
    const score = scoresWith({ neighbour: 0.2, neighbourOfOwn: 1.5 }, parts);
    expect(score("before")).toBeGreaterThan(score("apart"));
    expect(score("after")).toBe(score("before"));
    expect(score("best")).toBeGreaterThan(score("before"));
    expect(score("bare")).toBe(score("apart"));
    const less = scoresWith({ neighbour: 0.2, neighbourOfOwn: 0.5 }, parts);
    expect((less("best") - less("before")) / (less("best") - less("apart"))).toBeGreaterThan(
      (score("best") - score("before")) / (score("best") - score("apart")),
    );
    const unshared = scoresWith({ neighbourOfOwn: 1.5 }, parts);
    expect(unshared("before")).toBe(unshared("apart"));
  });

  test("takes the better neighbour, not both, so that a run of weak ones does not beat a hit", () => {
    const wordHits = [hit("a", 4), hit("b", 4, { previousId: "a" }), hit("c", 4, { previousId: "b" }), hit("alone", 5)];
    expect(order({ wordHits, weights: { ...ALONE, neighbour: 0.2, neighbourOfOwn: 1.5 } })[0]).toBe("alone");
  });

  test("lifts an exchange towards the meaning of a neighbour that is nearer, on either side, and never lowers one", () => {
    const [before, named, after] = [
      hit("before", 0.2),
      hit("named", 0.9, { previousId: "before" }),
      hit("after", 0.2, { previousId: "named" }),
    ];
    const vectorHits = [before, named, after, hit("apart", 0.2), hit("far", -0.5, { previousId: "apart" })];
    const [plain, lifted] = [0, 0.5].map((neighbourMeaning) => scoresWith({ vector: 1, neighbourMeaning }, { vectorHits }));
    expect([plain!("before"), plain!("after")]).toEqual([plain!("apart"), plain!("apart")]);
    expect(lifted!("before")).toBe(lifted!("after"));
    const falling = ["named", "after", "apart", "far"].map((id) => lifted!(id));
    expect(falling).toEqual([...new Set(falling)].toSorted((one, other) => other - one));
    expect(rank({ vectorHits, weights: { ...ALONE, neighbourMeaning: 0.5 } }).map(({ nearness }) => nearness)).toContain(-0.5);
  });

  test.each([
    [60, true],
    [61, false],
  ])("takes meaning from a neighbour of %d minutes before, which is the same talk: %j", (minutesLater, isSameTalk) => {
    const vectorHits = [hit("named", 0.9), hit("after", 0.2, { previousId: "named", minutesLater }), hit("apart", 0.2)];
    const score = scoresWith({ vector: 1, neighbourMeaning: 0.5 }, { vectorHits });
    expect(score("after") > score("apart")).toBe(isSameTalk);
  });

  test.each([
    [{}, 1],
    [{ wordless: 0.4 }, 0.4],
  ])("counts having none of the words as a share of the worst that has some: with %j as %d", (weights, share) => {
    const score = scoresWith(weights, {
      wordHits: [hit("best", 9), hit("middle", 4), hit("worst", 1)],
      vectorHits: [hit("wordless", 0.9)],
    });
    expect(score("wordless") / score("worst")).toBeCloseTo(share);
  });

  test("counts the only hit by words above what has none of them, also when it is less near", () => {
    const vectorHits = [hit("near", 0.8), hit("alone", 0.78), hit("other", 0.1)];
    expect(order({ wordHits: [hit("alone", 7)], vectorHits })[0]).toBe("alone");
    const alike = ["a", "b", "c"].map((id) => hit(id, 0.1 + 0.2));
    expect(order({ wordHits: alike, vectorHits: [hit("wordless", 0.5)], weights: ALONE }).at(-1)).toBe("wordless");
  });

  test("lifts what is of the named time, from its first moment to before its end, above better matches, and keeps those behind it", () => {
    const wordHits = [hit("better", 10, { daysAgo: 9 }), hit("at its end", 8, { daysAgo: 1 }), hit("at its beginning", 2, { daysAgo: 2 })];
    const time = { from: new Date(NOW.getTime() - 2 * DAY_MS), until: new Date(NOW.getTime() - DAY_MS), kind: "day" as const };
    expect(order({ wordHits })).toEqual(["better", "at its end", "at its beginning"]);
    expect(order({ wordHits, time })).toEqual(["at its beginning", "better", "at its end"]);
  });

  test("never lets importance and age beat clear relevance, yet has them decide between equals", () => {
    const others = Array.from({ length: 8 }, (_, number) => hit(`other ${number}`, 1));
    const wordHits = [hit("fits", 9, { daysAgo: 2_000, importance: 0 }), hit("matters", 5, { daysAgo: 0, importance: 1 }), ...others];
    expect(order({ wordHits }).slice(0, 2)).toEqual(["fits", "matters"]);
    expect(order({ wordHits: [hit("a", 5, { importance: 0.1 }), hit("b", 5, { importance: 0.9 })] })).toEqual(["b", "a"]);
    expect(order({ wordHits: [hit("a", 5, { daysAgo: 400 }), hit("b", 5, { daysAgo: 1 })] })).toEqual(["b", "a"]);
    const [future, today] = [-300, 0].map((daysAgo) => rank({ wordHits: [hit("a", 5, { daysAgo })] })[0]?.score);
    expect(future).toBe(today);
  });

  test("property: holds every hit once, the best first, with a number for a score", () => {
    const anyHits = fc.uniqueArray(fc.tuple(fc.constantFrom(..."abcdefgh"), fc.integer({ min: 1, max: 4 })), { selector: ([id]) => id });
    fc.assert(
      fc.property(anyHits, anyHits, (words, vectors) => {
        const ranked = rank({
          wordHits: words.map(([id, score]) => hit(id, score)),
          vectorHits: vectors.map(([id, score]) => hit(id, score / 4)),
        });
        expect(ranked.map((one) => one.hit.id).sort()).toEqual([...new Set([...words, ...vectors].map(([id]) => id))].sort());
        const all = ranked.map(({ score }) => score);
        expect(all).toEqual(all.filter(Number.isFinite).toSorted((one, other) => other - one));
      }),
    );
  });
});

describe("loadBest", () => {
  const RANKED = [..."abcde"].map((id, place) => ({ hit: hit(id, 0), score: -place, words: null, nearness: null }));

  test.each([
    ["no more than are asked for when all of them are there", "abcde", ["aa0", "bb-1"], ["ab"]],
    ["the others when some are gone", "bcde", ["bb-1", "cc-2"], ["ab", "cde"]],
    ["the others when only one is there", "e", ["ee-4"], ["ab", "cde"]],
    ["the others in vain", "", [], ["ab", "cde"]],
  ])("reads %s, and gives at most as many, in their order", async (_name, there, expected, reads) => {
    const asked: string[] = [];
    const found = await loadBest(RANKED, 2, async (some) => {
      asked.push(some.map((one) => one.hit.id).join(""));
      return some.flatMap((one) => (there.includes(one.hit.id) ? [{ id: one.hit.id }] : [])).toReversed();
    });
    expect(found.map((one) => `${one.text.id}${one.hit.id}${one.score}`)).toEqual(expected);
    expect(asked).toEqual(reads);
  });
});
