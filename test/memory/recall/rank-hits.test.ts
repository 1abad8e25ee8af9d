import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { rankHits, type HitsToRank, type RankingWeights } from "../../../memory/recall/rank-hits.ts";
import type { SearchHit } from "../../../stores/search/search-index.ts";

const NOW = new Date("2024-06-01T12:00:00Z");
const DAY_MS = 86_400_000;
const WEIGHTS: RankingWeights = { vector: 0.25, neighbour: 0.2, time: 4, importance: 0.2, recency: 0.1 };
const ALONE: RankingWeights = { vector: 0, neighbour: 0, time: 0, importance: 0, recency: 0 };

interface HitFields {
  previousId?: string | null;
  daysAgo?: number;
  minutesLater?: number;
  importance?: number;
}

function hit(id: string, score: number, fields: HitFields = {}): SearchHit {
  const { previousId = null, daysAgo = 10, minutesLater = 0, importance = 0.5 } = fields;
  const createdAt = new Date(NOW.getTime() - daysAgo * DAY_MS + minutesLater * 60_000);
  return { id, score, previousId, createdAt, ownerKey: "owner", groupId: "group", attributes: { importance } };
}

const rank = (parts: Partial<HitsToRank>) => rankHits({ wordHits: [], vectorHits: [], weights: WEIGHTS, now: NOW, time: null, ...parts });
const order = (parts: Partial<HitsToRank>): string[] => rank(parts).map(({ hit: { id } }) => id);

describe("rankEpisodes", () => {
  test("of nothing is nothing", () => {
    expect(rank({})).toEqual([]);
  });

  test("with one leg missing keeps the order of the other", () => {
    const hits = [hit("a", 9), hit("b", 5), hit("c", 1)];
    expect(order({ wordHits: hits })).toEqual(["a", "b", "c"]);
    expect(order({ vectorHits: hits.map((one) => ({ ...one, score: one.score / 10 })) })).toEqual(["a", "b", "c"]);
  });

  test("one hit far above all others by words leaves differences between these", () => {
    const wordHits = [hit("rare", 100), ...Array.from({ length: 9 }, (_, index) => hit(`other-${index}`, 10 - index))];
    const ranked = rank({ wordHits, weights: ALONE });
    expect(ranked[0]?.hit.id).toBe("rare");
    expect((ranked[1]?.score ?? 0) - (ranked[9]?.score ?? 0)).toBeGreaterThan(0.6); // 0.28 by BM25 itself
  });

  test("says what each leg gave, and null where an episode was not among its hits", () => {
    const ranked = rank({ wordHits: [hit("a", 9), hit("b", 5)], vectorHits: [hit("b", 0.9), hit("c", 0.4)] });
    const legs = Object.fromEntries(ranked.map(({ hit: { id }, words, cosine }) => [id, [words, cosine]]));
    expect(legs).toEqual({ a: [9, null], b: [5, 0.9], c: [null, 0.4] });
  });

  test("counts vectors at the weight of their embedder: weak ones decide nothing against words, strong ones do", () => {
    const wordHits = [hit("words", 10), hit("both", 6), hit("vectors", 2)];
    const vectorHits = [hit("vectors", 0.9), hit("both", 0.5), hit("words", 0.1)];
    expect(order({ wordHits, vectorHits, weights: { ...ALONE, vector: 0.25 } })).toEqual(["words", "both", "vectors"]);
    expect(order({ wordHits, vectorHits, weights: { ...ALONE, vector: 3 } })).toEqual(["vectors", "both", "words"]);
  });

  test("does not hang on the scale of a leg's scores", () => {
    const wordHits = [hit("a", 3), hit("b", 2), hit("c", 0.5)];
    const vectorHits = [hit("b", 0.8), hit("c", 0.7), hit("a", 0.2)];
    const scaled = wordHits.map((one) => ({ ...one, score: one.score * 1_000 }));
    expect(rank({ wordHits: scaled, vectorHits, weights: { ...ALONE, vector: 1 } }).map(({ score }) => score.toFixed(6))).toEqual(
      rank({ wordHits, vectorHits, weights: { ...ALONE, vector: 1 } }).map(({ score }) => score.toFixed(6)),
    );
  });

  test("gives what was said right before or after a hit a share of its words", () => {
    const vectorHits = [hit("apart", 0.5), hit("before", 0.5), hit("after", 0.5, { previousId: "best" }), hit("worst", 0.5)];
    const wordHits = [hit("best", 10, { previousId: "before" }), hit("worst", 1)];
    const scores = Object.fromEntries(
      rank({ wordHits, vectorHits, weights: { ...ALONE, neighbour: 0.2 } }).map((one) => [one.hit.id, one.score]),
    );
    expect(scores["before"]).toBeGreaterThan(scores["apart"] ?? 0);
    expect(scores["after"]).toBe(scores["before"]);
    expect(scores["best"]).toBeGreaterThan(scores["before"] ?? 0);
    const without = rank({ wordHits, vectorHits, weights: ALONE }).map((one) => [one.hit.id, one.score] as const);
    expect(Object.fromEntries(without)["before"]).toBe(Object.fromEntries(without)["apart"]);
  });

  test("takes the better neighbour, not both, so that a run of weak ones does not beat a hit", () => {
    const wordHits = [hit("a", 4), hit("b", 4, { previousId: "a" }), hit("c", 4, { previousId: "b" }), hit("alone", 5)];
    expect(order({ wordHits, weights: { ...ALONE, neighbour: 0.2 } })[0]).toBe("alone");
  });

  test("lifts an exchange towards the meaning of a neighbour that is nearer, on either side, and never lowers one", () => {
    const vectorHits = [
      hit("before", 0.2),
      hit("named", 0.9, { previousId: "before" }),
      hit("after", 0.2, { previousId: "named" }),
      hit("apart", 0.2),
      hit("far", -0.5, { previousId: "apart" }),
    ];
    const scoresAt = (neighbourMeaning: number): Record<string, number> =>
      Object.fromEntries(
        rank({ vectorHits, weights: { ...ALONE, vector: 1, neighbourMeaning } }).map((one) => [one.hit.id, one.score] as const),
      );
    const [without, lifted] = [scoresAt(0), scoresAt(0.5)];
    expect([without["before"], without["after"]]).toEqual([without["apart"], without["apart"]]);
    expect(lifted["before"]).toBe(lifted["after"]);
    expect(lifted["after"]).toBeGreaterThan(lifted["apart"] ?? 0);
    expect(lifted["named"]).toBeGreaterThan(lifted["after"] ?? 0);
    // Beside "far", which it does not lose by.
    expect(lifted["apart"]).toBeGreaterThan(lifted["far"] ?? 0);
    expect(rank({ vectorHits, weights: { ...ALONE, neighbourMeaning: 0.5 } }).map(({ cosine }) => cosine)).toContain(-0.5);
  });

  test("takes no meaning from a neighbour of another talk: an hour apart is the same, more is not", () => {
    const scoreAfter = (minutesLater: number): number => {
      const vectorHits = [hit("named", 0.9), hit("after", 0.2, { previousId: "named", minutesLater }), hit("apart", 0.2)];
      const ranked = rank({ vectorHits, weights: { ...ALONE, vector: 1, neighbourMeaning: 0.5 } });
      const [after, apart] = ["after", "apart"].map((id) => ranked.find((one) => one.hit.id === id)?.score ?? 0);
      return (after ?? 0) - (apart ?? 0);
    };
    expect(scoreAfter(60)).toBeGreaterThan(0);
    expect(scoreAfter(61)).toBe(0);
  });

  test("counts having none of the words as a share of the worst that has some", () => {
    const wordHits = [hit("best", 9), hit("middle", 4), hit("worst", 1)];
    const vectorHits = [hit("wordless", 0.9)];
    const scoreOf = (wordless?: number): number => {
      const ranked = rank({ wordHits, vectorHits, weights: { ...ALONE, ...(wordless === undefined ? {} : { wordless }) } });
      const [one, worst] = ["wordless", "worst"].map((id) => ranked.find((episode) => episode.hit.id === id)?.score ?? 0);
      return (one ?? 0) / (worst ?? 1);
    };
    expect(scoreOf()).toBe(1);
    expect(scoreOf(0.4)).toBeCloseTo(0.4);
  });

  test("counts the only hit by words above what has none of them, also when it is less near", () => {
    const vectorHits = [hit("near", 0.8), hit("alone", 0.78), hit("other", 0.1)];
    expect(order({ wordHits: [hit("alone", 7)], vectorHits })[0]).toBe("alone");
    const alike = ["a", "b", "c"].map((id) => hit(id, 0.1 + 0.2));
    expect(order({ wordHits: alike, vectorHits: [hit("wordless", 0.5)], weights: ALONE }).at(-1)).toBe("wordless");
  });

  test("lifts what is of the named time above better matches, and keeps those behind it", () => {
    const time = { from: new Date(NOW.getTime() - 20.5 * DAY_MS), until: new Date(NOW.getTime() - 19.5 * DAY_MS) };
    const wordHits = [hit("better", 10), hit("good", 8), hit("of that day", 2, { daysAgo: 20 })];
    expect(order({ wordHits, time: null })).toEqual(["better", "good", "of that day"]);
    expect(order({ wordHits, time })).toEqual(["of that day", "better", "good"]);
  });

  test("takes the first moment of a time in and leaves the one after its end out", () => {
    const [from, until] = [new Date(NOW.getTime() - 2 * DAY_MS), new Date(NOW.getTime() - DAY_MS)];
    const wordHits = [hit("other", 5, { daysAgo: 9 }), hit("at its end", 4, { daysAgo: 1 }), hit("at its beginning", 3, { daysAgo: 2 })];
    expect(order({ wordHits, time: { from, until } })[0]).toBe("at its beginning");
    expect(order({ wordHits, time: { from, until } }).at(-1)).toBe("at its end");
  });

  test("never lets importance and age beat clear relevance, yet has them decide between equals", () => {
    const others = Array.from({ length: 8 }, (_, number) => hit(`other ${number}`, 1));
    const wordHits = [hit("fits", 9, { daysAgo: 2_000, importance: 0 }), hit("matters", 5, { daysAgo: 0, importance: 1 }), ...others];
    expect(order({ wordHits }).slice(0, 2)).toEqual(["fits", "matters"]);
    const equals = [hit("a", 5, { importance: 0.1 }), hit("b", 5, { importance: 0.9 })];
    expect(order({ wordHits: equals })).toEqual(["b", "a"]);
    const ages = [hit("a", 5, { daysAgo: 400 }), hit("b", 5, { daysAgo: 1 })];
    expect(order({ wordHits: ages })).toEqual(["b", "a"]);
  });

  test("does not lift what is of the future above what is of today", () => {
    const [future, today] = [-300, 0].map((daysAgo) => rank({ wordHits: [hit("a", 5, { daysAgo })] })[0]?.score);
    expect(future).toBe(today);
  });

  test("property: holds every hit once, the best first, equals by id, in whatever order the hits come", () => {
    const anyHits = fc.uniqueArray(fc.tuple(fc.constantFrom(..."abcdefgh"), fc.integer({ min: 1, max: 4 })), { selector: ([id]) => id });
    fc.assert(
      fc.property(anyHits, anyHits, (words, vectors) => {
        const parts = {
          wordHits: words.map(([id, score]) => hit(id, score)),
          vectorHits: vectors.map(([id, score]) => hit(id, score / 4)),
        };
        const ranked = rank(parts);
        expect(ranked.map((one) => one.hit.id).sort()).toEqual([...new Set([...words, ...vectors].map(([id]) => id))].sort());
        for (const [place, { score }] of ranked.entries()) expect(score).toBeLessThanOrEqual(ranked[place - 1]?.score ?? Infinity);
        const turned = order({ wordHits: parts.wordHits.toReversed(), vectorHits: parts.vectorHits.toReversed() });
        expect(turned).toHaveLength(ranked.length);
        for (const { score } of ranked) expect(Number.isFinite(score)).toBe(true);
      }),
    );
  });

  test("puts equals in the order of their ids", () => {
    expect(order({ wordHits: ["c", "a", "d", "b"].map((id) => hit(id, 3)) })).toEqual(["a", "b", "c", "d"]);
  });
});
