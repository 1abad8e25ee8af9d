import { beforeEach, describe, expect, test } from "@jest/globals";
import type { IndexDefinition, SearchIndex, SearchLevel, SearchStore } from "../../../stores/search/contract/search-index.ts";
import { lexicalQuery, lexicalText } from "../../../text/lexical-text.ts";
import { MANY_SCRIPTS } from "../../support/samples/many-scripts.ts";
import { useOpened } from "../../support/use-opened.ts";
import { testFilters } from "./search-filters.contract.ts";
import { ANNA, BEN, definitionOf, DIMENSIONS, direction, idsOf, sampleDocument, sampleId } from "./sample-document.ts";

export interface StoreUnderTest {
  store: SearchStore;
  /** Another store on the same data, as a process that starts later has it. */
  reopen: () => Promise<SearchStore>;
  close: () => Promise<void>;
}

/** What every search store must do. */
export function describeSearchStore(title: string, level: SearchLevel, open: () => Promise<StoreUnderTest>): void {
  describe(`search index on ${title}`, () => {
    const opened = useOpened(open, 120_000);
    let index: SearchIndex;
    let definition: IndexDefinition;
    let count = 0;

    beforeEach(async () => {
      definition = definitionOf(`index_${++count}`);
      index = await opened.store.openIndex(definition);
    });

    test("names its level", async () => {
      expect([opened.store.level, await opened.store.levelOf(definition.name)]).toEqual([level, level]);
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
        return { id, ownerKey: ANNA, groupId, previousId, createdAt, attributes, script: "other", score: expect.any(Number) };
      });
      expect(await index.fetch(ANNA, [sampleId(1)])).toEqual([{ ...whole[0], score: 0 }]);
      const [nearest] = await index.searchVectors({ ownerKey: ANNA }, direction(1), 4);
      expect(nearest).toEqual({ ...whole[0], score: expect.closeTo(1, 5) });
      const best = await index.searchWords({ ownerKey: ANNA }, "red", 4);
      expect(best).toHaveLength(4);
      expect(best).toEqual(expect.arrayContaining(whole));
      expect(await index.searchWords({ ownerKey: ANNA }, "red", 2)).toEqual(best.slice(0, 2));
    });

    test("writing again changes nothing but what differs: of the same id twice in a batch the last counts", async () => {
      const documents = [1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA, lexicalText: "red green" }));
      await index.upsert(documents);
      const before = await index.searchWords({ ownerKey: ANNA }, "red", 5);
      await index.upsert(documents);
      await index.upsert([]);
      expect(await index.count()).toBe(3);
      expect(await index.searchWords({ ownerKey: ANNA }, "red", 5)).toEqual(before);
      await index.upsert([documents[0]!, { ...documents[0]!, lexicalText: "blue", embedding: direction(7) }]);
      expect(idsOf(await index.searchWords({ ownerKey: ANNA }, "blue", 5))).toEqual([sampleId(1)]);
      expect(idsOf(await index.searchWords({ ownerKey: ANNA }, "red", 5)).toSorted()).toEqual([sampleId(2), sampleId(3)].toSorted());
      expect(idsOf(await index.searchVectors({ ownerKey: ANNA }, direction(7), 1))).toEqual([sampleId(1)]);
    });

    test("ranks vectors by cosine, which is the score, and keeps each document's own in a batch", async () => {
      const angles = Array.from({ length: 40 }, (_, number) => (number * Math.PI) / 40);
      const turned = (angle: number): number[] =>
        direction(0).map((value, place) => value * Math.cos(angle) + (direction(1)[place] ?? 0) * Math.sin(angle));
      await index.upsert(angles.map((angle, number) => sampleDocument(number, { ownerKey: ANNA, embedding: turned(angle) })));
      for (const flushed of [false, true]) {
        if (flushed) await index.flush();
        const hits = await index.searchVectors({ ownerKey: ANNA }, direction(0), 50);
        expect(idsOf(hits)).toEqual(angles.map((_, number) => sampleId(number)));
        expect(hits.map(({ score }) => score)).toEqual(angles.map((angle) => expect.closeTo(Math.cos(angle), 5)));
        expect(idsOf(await index.searchVectors({ ownerKey: ANNA }, direction(0), 2))).toEqual([0, 1].map(sampleId));
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
      expect(await search("red red red blue")).toEqual([expected(0, "red", "red", "red", "blue"), expected(1, "red", "red", "red")]);
      expect(await search("导演")).toEqual([expected(3, "导演")]);
      expect(await search("导 电影 电影 nowhere")).toEqual([expected(3, "导", "电影", "电影")]);
      for (const nothing of ["nowhere 无", "", "   "]) expect(await search(nothing)).toEqual([]);
    });

    test("finds by their words texts without spaces between words, and texts with marks", async () => {
      const remembered = MANY_SCRIPTS.flatMap(([, ...of]) => of);
      const documents = remembered.map(([said], number) => sampleDocument(number, { ownerKey: ANNA, lexicalText: lexicalText(said) }));
      await index.upsert(documents);
      for (const [number, [, asked]] of remembered.entries())
        expect(idsOf(await index.searchWords({ ownerKey: ANNA }, lexicalQuery(asked), 5))).toEqual([sampleId(number)]);
    });

    testFilters(
      async (given) => opened.store.openIndex(given ?? definition),
      () => count,
    );

    test("owners never see each other, and cannot remove from each other", async () => {
      await index.upsert([sampleDocument(1, { ownerKey: ANNA }), sampleDocument(2, { ownerKey: BEN })]);
      for (const [owner, own, foreign] of [
        [ANNA, sampleId(1), sampleId(2)],
        [BEN, sampleId(2), sampleId(1)],
      ] as const) {
        expect(idsOf(await index.searchVectors({ ownerKey: owner }, direction(0), 10))).toEqual([own]);
        expect(idsOf(await index.searchWords({ ownerKey: owner }, "sample", 10))).toEqual([own]);
        expect(idsOf(await index.fetch(owner, [own, foreign]))).toEqual([own]);
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
        const vectors = idsOf(await index.searchVectors({ ownerKey: ANNA }, direction(0), 10)).toSorted();
        expect(idsOf(await index.searchWords({ ownerKey: ANNA }, "sample", 10)).toSorted()).toEqual(vectors);
        expect(idsOf(await index.fetch(ANNA, [0, 1, 2, 3].map(sampleId))).toSorted()).toEqual(vectors);
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

    test("refuses what is no owner key, no UUID, no vector of its size", async () => {
      const evil = [`x" or id != "`, "anna", "", "' or true --", `${ANNA}\n`];
      const expectRefused = async (calls: Promise<unknown>[]): Promise<void> => {
        const refused = calls.map(() => ({ status: "rejected", reason: expect.any(TypeError) }));
        expect(await Promise.allSettled(calls)).toEqual(refused);
      };
      const ofIds = (owner: string, id: string): Promise<unknown>[] => [
        index.searchWords({ ownerKey: owner, groupId: id }, "sample", 5),
        index.searchVectors({ ownerKey: owner, groupId: id }, direction(0), 5),
        index.fetch(owner, [id]),
        index.remove(owner, [sampleId(1), id]),
        index.removeGroups(owner, [id]),
      ];
      for (const owner of evil) {
        const written = index.upsert([sampleDocument(1, { ownerKey: owner })]);
        await expectRefused([...ofIds(owner, sampleId(1)), index.count(owner), written]);
      }
      for (const id of [...evil, ANNA, sampleId(1).toUpperCase().replace("0", "A")]) await expectRefused(ofIds(ANNA, id));
      await expect(index.searchVectors({ ownerKey: ANNA, from: new Date(Number.NaN) }, direction(0), 5)).rejects.toThrow(TypeError);
      await expect(index.searchVectors({ ownerKey: ANNA }, [1, 0], 5)).rejects.toThrow(RangeError);
      const noNumbers = sampleDocument(1, { ownerKey: ANNA, embedding: Array(DIMENSIONS).fill(Number.NaN) });
      await expect(index.upsert([noNumbers])).rejects.toThrow(RangeError);
      await expect(opened.store.openIndex({ ...definition, name: `x"; drop table y; --` })).rejects.toThrow(TypeError);
      await expect(opened.store.openIndex({ ...definition, attributes: { owner_key: "text" } })).rejects.toThrow(TypeError);
    });

    test("holds very long texts, strange characters and several hundred documents", async () => {
      const long = Array.from({ length: 7_000 }, (_, number) => `word${number}`).join(" ");
      const note = `"quoted" 'single' \\ {a,b} \n\t $1 %s 😀 كتاب \uD800 \0 end`;
      await index.upsert([
        sampleDocument(1, { ownerKey: ANNA, lexicalText: long, attributes: { note, weight: 0.1 } }),
        sampleDocument(2, { ownerKey: ANNA, lexicalText: "", attributes: { note: "", weight: -1e300 } }),
        sampleDocument(3, { ownerKey: ANNA, lexicalText: "x".repeat(100_000), attributes: { note: "价".repeat(50_000), weight: 3 } }),
      ]);
      expect(idsOf(await index.searchWords({ ownerKey: ANNA }, "word6999", 5))).toEqual([sampleId(1)]);
      const found = new Map((await index.fetch(ANNA, [1, 2, 3].map(sampleId))).map((hit) => [hit.id, hit.attributes]));
      expect(found.get(sampleId(1))).toEqual({ note: `"quoted" 'single' \\ {a,b} \n\t $1 %s 😀 كتاب \uFFFD  end`, weight: 0.1 });
      expect(found.get(sampleId(2))).toEqual({ note: "", weight: -1e300 });
      expect(String(found.get(sampleId(3))?.["note"])).toMatch(/^价{20000,50000}$/);
      await index.searchWords({ ownerKey: ANNA }, `"quoted" 'single' \\ (a | b) & !c :* <-> 😀 \uD800 \0`, 5);
      await index.upsert(Array.from({ length: 450 }, (_, number) => sampleDocument(1_000 + number, { ownerKey: BEN })));
      expect(await index.count(BEN)).toBe(450);
      expect(await index.searchVectors({ ownerKey: BEN }, direction(0), 300)).toHaveLength(300);
    });

    test("an index is there after reopening, is listed, and is dropped; another size under its name is refused", async () => {
      await index.upsert([sampleDocument(1, { ownerKey: ANNA })]);
      const again = await opened.reopen();
      await again.check();
      expect(again).toMatchObject({ kind: opened.store.kind, description: opened.store.description });
      expect(idsOf(await (await again.openIndex(definition)).searchWords({ ownerKey: ANNA }, "sample", 5))).toEqual([sampleId(1)]);
      await expect(again.openIndex({ ...definition, dimensions: DIMENSIONS + 1 })).rejects.toMatchObject({
        code: "invalid_configuration",
      });
      expect(await again.listIndexes()).toContain(definition.name);
      await again.dropIndex(definition.name);
      await again.dropIndex(definition.name);
      expect(await again.listIndexes()).not.toContain(definition.name);
      const anew = await again.openIndex({ ...definition, dimensions: DIMENSIONS + 1 });
      expect(await anew.count()).toBe(0);
      const longer = [...direction(0), 0];
      await anew.upsert([sampleDocument(1, { ownerKey: ANNA, embedding: longer })]);
      expect(idsOf(await anew.searchVectors({ ownerKey: ANNA }, longer, 5))).toEqual([sampleId(1)]);
      await again.close();
    });

    test("many at once: writers, readers and a second opening do not disturb each other", async () => {
      const indexes = await Promise.all([1, 2, 3].map(() => opened.store.openIndex(definition)));
      await Promise.all(
        Array.from({ length: 12 }, async (_, number) => {
          const one = indexes[number % 3] ?? index;
          await one.upsert([sampleDocument(number, { ownerKey: ANNA })]);
          await one.searchVectors({ ownerKey: ANNA }, direction(number), 5);
        }),
      );
      expect(await index.count(ANNA)).toBe(12);
    });
  });
}
