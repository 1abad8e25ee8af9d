import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ownerKey } from "../../../stores/search/index-keys.ts";
import type { SearchHit, SearchIndex } from "../../../stores/search/search-index.ts";
import { DIMENSIONS, direction, sampleDocument, SAMPLE_ATTRIBUTES, sampleId } from "./sample-document.ts";
import { testLimits, type StoreUnderTest } from "./search-limits.contract.ts";

const ANNA = ownerKey("acme", "anna");
const BEN = ownerKey("acme", "ben");
const ids = (hits: readonly SearchHit[]): string[] => hits.map(({ id }) => id);

/** What every search store must do. */
export function describeSearchStore(title: string, open: () => Promise<StoreUnderTest>): void {
  describe(`search index on ${title}`, () => {
    let opened: StoreUnderTest;
    let index: SearchIndex;
    let count = 0;
    const definition = () => ({ name: `index_${count}`, dimensions: DIMENSIONS, attributes: SAMPLE_ATTRIBUTES });

    beforeAll(async () => {
      opened = await open();
    }, 120_000);
    afterAll(() => opened.close());
    beforeEach(async () => {
      count += 1;
      index = await opened.store.openIndex(definition());
    });

    test("gives back what was written, whole, also when fewer than match are wanted", async () => {
      const documents = [1, 2, 3, 4].map((number) =>
        sampleDocument(number, {
          ownerKey: ANNA,
          previousId: number > 1 ? sampleId(number - 1) : null,
          createdAt: new Date(`2024-05-08T12:34:56.78${number}Z`),
          lexicalText: "red ".repeat(number).trim(),
        }),
      );
      await index.upsert(documents);
      const whole = documents.map(({ id, groupId, previousId, createdAt, attributes }) => {
        return { id, ownerKey: ANNA, groupId, previousId, createdAt, attributes, score: expect.any(Number) };
      });
      expect(await index.fetch(ANNA, [sampleId(1)])).toEqual([{ ...whole[0], score: 0 }]);
      const [nearest] = await index.searchVectors({ ownerKey: ANNA }, direction(1), 4);
      expect(nearest).toEqual({ ...whole[0], score: expect.closeTo(1, 5) });
      const best = await index.searchWords({ ownerKey: ANNA }, "red", 4);
      expect(best).toHaveLength(4);
      expect(best).toEqual(expect.arrayContaining(whole));
      expect(await index.searchWords({ ownerKey: ANNA }, "red", 2)).toEqual(best.slice(0, 2));
    });

    test("writing again changes nothing but what differs", async () => {
      const documents = [1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA, lexicalText: "red green" }));
      await index.upsert(documents);
      await index.upsert(documents);
      expect(await index.count(ANNA)).toBe(3);
      const before = await index.searchWords({ ownerKey: ANNA }, "red", 5);
      await index.upsert(documents);
      expect(await index.searchWords({ ownerKey: ANNA }, "red", 5)).toEqual(before);
      await index.upsert([{ ...documents[0]!, lexicalText: "blue", embedding: direction(7) }]);
      expect(ids(await index.searchWords({ ownerKey: ANNA }, "blue", 5))).toEqual([sampleId(1)]);
      expect(ids(await index.searchWords({ ownerKey: ANNA }, "red", 5)).toSorted()).toEqual([sampleId(2), sampleId(3)].toSorted());
      expect(ids(await index.searchVectors({ ownerKey: ANNA }, direction(7), 1))).toEqual([sampleId(1)]);
    });

    test("the same id twice in one batch: the last one counts; no documents are no error", async () => {
      await index.upsert([]);
      await index.upsert([
        sampleDocument(1, { ownerKey: ANNA, lexicalText: "red" }),
        sampleDocument(1, { ownerKey: ANNA, lexicalText: "blue" }),
      ]);
      expect(await index.count()).toBe(1);
      expect(await index.searchWords({ ownerKey: ANNA }, "red", 5)).toEqual([]);
    });

    test("keeps each document's own vector in a batch", async () => {
      const angles = Array.from({ length: 40 }, (_, number) => (number * Math.PI) / 100);
      const turned = (angle: number): number[] =>
        direction(0).map((value, place) => value * Math.cos(angle) + (direction(1)[place] ?? 0) * Math.sin(angle));
      await index.upsert(angles.map((angle, number) => sampleDocument(number, { ownerKey: ANNA, embedding: turned(angle) })));
      const hits = await index.searchVectors({ ownerKey: ANNA }, direction(0), 40);
      expect(ids(hits)).toEqual(angles.map((_, number) => sampleId(number)));
      expect(hits.map(({ score }) => score)).toEqual(angles.map((angle) => expect.closeTo(Math.cos(angle), 5)));
    });

    test("ranks vectors by cosine, which is the score", async () => {
      const near = direction(0).map((value, position) => value * 0.8 + (direction(1)[position] ?? 0) * 0.6);
      await index.upsert([
        sampleDocument(1, { ownerKey: ANNA, embedding: direction(1) }),
        sampleDocument(2, { ownerKey: ANNA, embedding: direction(0) }),
        sampleDocument(3, { ownerKey: ANNA, embedding: near }),
        sampleDocument(4, { ownerKey: ANNA, embedding: direction(0).map((value) => -value) }),
      ]);
      for (const flushed of [false, true]) {
        if (flushed) await index.flush();
        const hits = await index.searchVectors({ ownerKey: ANNA }, direction(0), 10);
        expect(ids(hits)).toEqual([2, 3, 1, 4].map(sampleId));
        expect(hits.map(({ score }) => score)).toEqual([1, 0.8, 0, -1].map((score) => expect.closeTo(score, 5)));
        expect(ids(await index.searchVectors({ ownerKey: ANNA }, direction(0), 2))).toEqual([2, 3].map(sampleId));
      }
    });

    test("ranks words by BM25 with k1 1.2 and b 0.75: the figures of the formula", async () => {
      const texts = ["red green blue", "red red yellow black", "white", "导演 导 演 电影 电 影"];
      await index.upsert(texts.map((lexicalText, number) => sampleDocument(number, { ownerKey: ANNA, lexicalText })));
      const average = texts.join(" ").split(" ").length / texts.length;
      const score = (word: string, text: string): number => {
        const words = text.split(" ");
        const frequency = words.filter((other) => other === word).length;
        const having = texts.filter((other) => other.split(" ").includes(word)).length;
        const rarity = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
        return (rarity * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * words.length) / average));
      };
      const search = async (query: string) => (await index.searchWords({ ownerKey: ANNA }, query, 10)).map((hit) => [hit.id, hit.score]);
      const expected = (number: number, ...words: string[]) => {
        const total = words.reduce((sum, word) => sum + score(word, texts[number] ?? ""), 0);
        return [sampleId(number), expect.closeTo(total, 4)];
      };
      expect(await search("red")).toEqual([expected(1, "red"), expected(0, "red")]);
      await index.flush();
      expect(await search("red")).toEqual([expected(1, "red"), expected(0, "red")]);
      expect(await search("red blue")).toEqual([expected(0, "red", "blue"), expected(1, "red")]);
      expect(await search("red red red blue")).toEqual(
        [expected(1, "red", "red", "red"), expected(0, "red", "red", "red", "blue")].toSorted(byScore),
      );
      expect(await search("导演")).toEqual([expected(3, "导演")]);
      expect(await search("导 电影 电影 nowhere")).toEqual([expected(3, "导", "电影", "电影")]);
      for (const nothing of ["nowhere 无", "", "   "]) expect(await search(nothing)).toEqual([]);
    });

    test("finds by group and by time: from that moment on, before that moment", async () => {
      const at = (minute: number) => new Date(Date.UTC(2024, 4, 8, 12, minute));
      const [one, other] = [sampleId(100), sampleId(101)];
      await index.upsert(
        [0, 1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA, groupId: number < 2 ? one : other, createdAt: at(number) })),
      );
      const found = async (filter: object) => {
        const vectors = ids(await index.searchVectors({ ownerKey: ANNA, ...filter }, direction(0), 10)).toSorted();
        expect(ids(await index.searchWords({ ownerKey: ANNA, ...filter }, "sample", 10)).toSorted()).toEqual(vectors);
        return vectors;
      };
      const these = (...numbers: number[]) => numbers.map(sampleId).toSorted();
      expect(await found({})).toEqual(these(0, 1, 2, 3));
      expect(await found({ groupId: one })).toEqual(these(0, 1));
      expect(await found({ groupId: sampleId(102) })).toEqual([]);
      expect(await found({ from: at(1) })).toEqual(these(1, 2, 3));
      expect(await found({ until: at(1) })).toEqual(these(0));
      expect(await found({ groupId: other, from: at(1), until: at(3) })).toEqual(these(2));
      expect(await found({ from: at(3), until: at(1) })).toEqual([]);
    });

    test("owners never see each other, and cannot remove from each other", async () => {
      await index.upsert([sampleDocument(1, { ownerKey: ANNA }), sampleDocument(2, { ownerKey: BEN })]);
      for (const [owner, own, foreign] of [
        [ANNA, sampleId(1), sampleId(2)],
        [BEN, sampleId(2), sampleId(1)],
      ] as const) {
        expect(ids(await index.searchVectors({ ownerKey: owner }, direction(0), 10))).toEqual([own]);
        expect(ids(await index.searchWords({ ownerKey: owner }, "sample", 10))).toEqual([own]);
        expect(ids(await index.fetch(owner, [own, foreign]))).toEqual([own]);
        expect(await index.count(owner)).toBe(1);
        expect(await index.remove(owner, [foreign])).toBe(0);
      }
      expect(await index.removeGroups(ANNA, [sampleDocument(2, { ownerKey: BEN }).groupId])).toBe(1);
      expect(await index.count()).toBe(1);
      expect(await index.count(BEN)).toBe(1);
    });

    test("what is removed is found by no search that begins afterwards", async () => {
      const [one, other] = [sampleId(100), sampleId(101)];
      const write = () =>
        index.upsert([0, 1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA, groupId: number < 2 ? one : other })));
      const left = async () => {
        const vectors = ids(await index.searchVectors({ ownerKey: ANNA }, direction(0), 10)).toSorted();
        expect(ids(await index.searchWords({ ownerKey: ANNA }, "sample", 10)).toSorted()).toEqual(vectors);
        expect(ids(await index.fetch(ANNA, [0, 1, 2, 3].map(sampleId))).toSorted()).toEqual(vectors);
        expect(await index.count(ANNA)).toBe(vectors.length);
        return vectors;
      };
      for (const flushed of [false, true]) {
        await write();
        if (flushed) await index.flush();
        expect(await index.remove(ANNA, [sampleId(0), sampleId(3), sampleId(77)])).toBe(2);
        expect(await left()).toEqual([1, 2].map(sampleId).toSorted());
        expect(await index.removeGroups(ANNA, [one])).toBe(1);
        expect(await left()).toEqual([sampleId(2)]);
        expect(await index.removeGroups(ANNA, [one, other])).toBe(1);
        expect(await left()).toEqual([]);
        expect(await index.removeGroups(ANNA, [one, other])).toBe(0);
        expect(await index.remove(ANNA, [])).toBe(0);
      }
    });

    testLimits(() => ({ ...opened, index, definition: definition() }));
  });
}

/** Pairs of an id and an expected score, the best first. */
function byScore(one: unknown[], other: unknown[]): number {
  const score = (pair: unknown[]) => (pair[1] as { sample: number }).sample;
  return score(other) - score(one);
}
