import { expect, test } from "@jest/globals";
import type { IndexDefinition, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import { ANNA, definitionOf, direction, idsOf, sampleDocument, sampleId } from "./sample-document.ts";

/** What every search store must do with filters. `open` opens the index of the test, or another one; `count` is its number. */
export function testFilters(open: (given?: IndexDefinition) => Promise<SearchIndex>, count: () => number): void {
  test("finds as many of a type as are asked for, also when few are, far from the question", async () => {
    const index = await open();
    const turned = (number: number): number[] =>
      direction(0).map((value, place) => value * Math.cos(number / 400) + (direction(1)[place] ?? 0) * Math.sin(number / 400));
    const note = (number: number): string => (number % 100 === 99 ? "rare" : number % 2 === 0 ? "even" : "odd");
    const documents = Array.from({ length: 400 }, (_, number) =>
      sampleDocument(number, { ownerKey: ANNA, embedding: turned(number), attributes: { note: note(number), weight: 1 } }),
    );
    await index.upsert(documents);
    const rare = [99, 199, 299, 399].map(sampleId);
    const nearest = async (types: string[], limit: number, filter = {}) =>
      idsOf(await index.searchVectors({ ownerKey: ANNA, types, ...filter }, direction(0), limit));
    expect(await nearest(["rare"], 3)).toEqual(rare.slice(0, 3));
    expect(await nearest(["rare"], 10)).toEqual(rare);
    expect(await nearest(["rare", "even"], 3)).toEqual([0, 2, 4].map(sampleId));
    expect(await nearest(["rare"], 10, { until: documents[200]?.createdAt })).toEqual(rare.slice(0, 2));
    for (const nothing of [["none"], []]) expect(await nearest(nothing, 10)).toEqual([]);
    const withWord = async (types: string[]) => idsOf(await index.searchWords({ ownerKey: ANNA, types }, "sample", 10)).toSorted();
    expect(await withWord(["rare"])).toEqual(rare);
    expect(await withWord(["odd"])).toHaveLength(10);
    expect(await withWord([])).toEqual([]);
    const { name, dimensions, attributes } = definitionOf(`untyped_${count()}`);
    const other = await open({ name, dimensions, attributes });
    await other.upsert(documents.slice(0, 2));
    expect(await other.searchVectors({ ownerKey: ANNA }, direction(0), 10)).toHaveLength(2);
    expect(await other.searchVectors({ ownerKey: ANNA, types: ["even"] }, direction(0), 10)).toEqual([]);
  });

  test("finds by group and by time: from that moment on, before that moment", async () => {
    const index = await open();
    const at = (minute: number) => new Date(Date.UTC(2024, 4, 8, 12, minute));
    const [one, other] = [sampleId(100), sampleId(101)];
    await index.upsert(
      [0, 1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA, groupId: number < 2 ? one : other, createdAt: at(number) })),
    );
    const found = async (filter: object) => {
      const vectors = idsOf(await index.searchVectors({ ownerKey: ANNA, ...filter }, direction(0), 10)).toSorted();
      expect(idsOf(await index.searchWords({ ownerKey: ANNA, ...filter }, "sample", 10)).toSorted()).toEqual(vectors);
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
}
