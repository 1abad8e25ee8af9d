import { expect, test } from "@jest/globals";
import { ownerKey } from "../../../stores/search/index-keys.ts";
import type { IndexDefinition, SearchHit, SearchIndex, SearchStore } from "../../../stores/search/search-index.ts";
import { DIMENSIONS, direction, sampleDocument, sampleId } from "./sample-document.ts";

export interface StoreUnderTest {
  store: SearchStore;
  /** Another store on the same data, as a process that starts later has it. */
  reopen: () => Promise<SearchStore>;
  close: () => Promise<void>;
}

const ANNA = ownerKey("acme", "anna");
const BEN = ownerKey("acme", "ben");
const ids = (hits: readonly SearchHit[]): string[] => hits.map(({ id }) => id);

/** The tests of the contract about what an index refuses, what it holds, and more than one of them. */
export function testLimits(current: () => StoreUnderTest & { index: SearchIndex; definition: IndexDefinition }): void {
  test("refuses what is no owner key, no UUID, no vector of its size", async () => {
    const { store, index, definition } = current();
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
    for (const id of [...evil, ANNA, sampleId(1).toUpperCase().replace("0", "A")]) {
      await expectRefused(ofIds(ANNA, id));
    }
    await expect(index.searchVectors({ ownerKey: ANNA, from: new Date(Number.NaN) }, direction(0), 5)).rejects.toThrow(TypeError);
    await expect(index.searchVectors({ ownerKey: ANNA }, [1, 0], 5)).rejects.toThrow(RangeError);
    const noNumbers = sampleDocument(1, { ownerKey: ANNA, embedding: Array(DIMENSIONS).fill(Number.NaN) });
    await expect(index.upsert([noNumbers])).rejects.toThrow(RangeError);
    await expect(store.openIndex({ ...definition, name: `x"; drop table y; --` })).rejects.toThrow(TypeError);
    await expect(store.openIndex({ ...definition, attributes: { owner_key: "text" } })).rejects.toThrow(TypeError);
  });

  test("holds very long texts, strange characters and several hundred documents", async () => {
    const { index } = current();
    const long = Array.from({ length: 7_000 }, (_, number) => `word${number}`).join(" ");
    const note = `"quoted" 'single' \\ {a,b} \n\t $1 %s 😀 كتاب \uD800 \0 end`;
    await index.upsert([
      sampleDocument(1, { ownerKey: ANNA, lexicalText: long, attributes: { note, weight: 0.1 } }),
      sampleDocument(2, { ownerKey: ANNA, lexicalText: "", attributes: { note: "", weight: -1e300 } }),
      sampleDocument(3, { ownerKey: ANNA, lexicalText: "x".repeat(100_000), attributes: { note: "价".repeat(50_000), weight: 3 } }),
    ]);
    expect(ids(await index.searchWords({ ownerKey: ANNA }, "word6999", 5))).toEqual([sampleId(1)]);
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
    const { store, reopen, index, definition } = current();
    await index.upsert([sampleDocument(1, { ownerKey: ANNA })]);
    const again = await reopen();
    await again.check();
    expect(again).toMatchObject({ kind: store.kind, description: store.description });
    expect(ids(await (await again.openIndex(definition)).searchWords({ ownerKey: ANNA }, "sample", 5))).toEqual([sampleId(1)]);
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
    expect(ids(await anew.searchVectors({ ownerKey: ANNA }, longer, 5))).toEqual([sampleId(1)]);
    await again.close();
  });

  test("many at once: writers, readers and a second opening do not disturb each other", async () => {
    const { store, index, definition } = current();
    const indexes = await Promise.all([1, 2, 3].map(() => store.openIndex(definition)));
    await Promise.all(
      Array.from({ length: 12 }, async (_, number) => {
        const one = indexes[number % 3] ?? index;
        await one.upsert([sampleDocument(number, { ownerKey: ANNA })]);
        await one.searchVectors({ ownerKey: ANNA }, direction(number), 5);
      }),
    );
    expect(await index.count(ANNA)).toBe(12);
  });
}
