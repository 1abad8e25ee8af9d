import { describe, expect, test } from "@jest/globals";
import { indexOfPart, makePartedIndex, PARTS, partNames } from "../../../stores/search/milvus/parted-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import type { VectorIndex } from "../../../stores/search/contract/search-index.ts";
import { direction, sampleDocument, sampleId } from "./sample-document.ts";

const OWNERS = Array.from({ length: 200 }, (_, number) => ownerKey("acme", `user-${number}`));

/** A part that keeps nothing but who asked for what. */
function recordingPart(asked: string[]): VectorIndex {
  const hear = async <Result>(what: string, result: Result): Promise<Result> => (asked.push(what), result);
  return {
    upsert: (documents) => hear(`upsert ${documents.map((document) => document.ownerKey).join(" ")}`, undefined),
    nearest: (filter) => hear(`nearest ${filter.ownerKey}`, []),
    removeGroups: (key) => hear(`groups ${key}`, 1),
    remove: (key) => hear(`remove ${key}`, 1),
    count: (key) => hear(`count ${key ?? "all"}`, 2),
    flush: () => hear("flush", undefined),
  };
}

function open(): { index: VectorIndex; asked: string[][] } {
  const asked = Array.from({ length: PARTS }, (): string[] => []);
  return { index: makePartedIndex(asked.map(recordingPart)), asked };
}

describe("an index in parts", () => {
  test("its collections are named after it, and it after them", () => {
    expect(new Set(partNames("episodes")).size).toBe(PARTS);
    expect(partNames("episodes").map(indexOfPart)).toEqual(Array(PARTS).fill("episodes"));
    expect(partNames("a_part1").map(indexOfPart)).toEqual(Array(PARTS).fill("a_part1"));
    expect(indexOfPart("episodes")).toBe("episodes");
  });

  test("asks for an owner one part, always the same, whatever it is asked", async () => {
    for (const owner of OWNERS.slice(0, 20)) {
      const { index, asked } = open();
      await index.upsert([sampleDocument(1, { ownerKey: owner })]);
      await index.nearest({ ownerKey: owner }, direction(1), 5);
      expect(await index.removeGroups(owner, [sampleId(1)])).toBe(1);
      expect(await index.remove(owner, [sampleId(1)])).toBe(1);
      expect(await index.count(owner)).toBe(2);
      const what = ["upsert", "nearest", "groups", "remove", "count"];
      expect(asked.filter((calls) => calls.length > 0)).toEqual([what.map((call) => `${call} ${owner}`)]);
    }
  });

  test("spreads owners over all parts, and a batch of several to the part of each", async () => {
    const { index, asked } = open();
    await index.upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner })));
    const shares = asked.map((calls) => calls.flatMap((call) => call.split(" ").slice(1)));
    expect(shares.flat().sort()).toEqual([...OWNERS].sort());
    for (const share of shares) expect(share.length).toBeGreaterThan(OWNERS.length / PARTS / 4);
    expect(asked.map((calls) => calls.length)).toEqual(Array(PARTS).fill(1));
  });

  test("flushes what was written since the last time, and nothing else", async () => {
    const { index, asked } = open();
    const flushes = (): number => asked.flat().filter((call) => call === "flush").length;
    await index.flush();
    expect(flushes()).toBe(0);
    await index.upsert([1, 2].map((number) => sampleDocument(number, { ownerKey: OWNERS[0] ?? "" })));
    await index.flush();
    await index.flush();
    expect(flushes()).toBe(1);
  });
});
