import { describe, expect, test } from "@jest/globals";
import { loadBest, type RankedHit } from "../../../memory/recall/rank-hits.ts";

const RANKED = ["a", "b", "c", "d", "e"].map((id, place): RankedHit => {
  const hit = { id, ownerKey: "", groupId: "", previousId: null, createdAt: new Date(0), score: 0, attributes: {} };
  return { hit, score: -place, words: null, cosine: null };
});

/** Loads those that are there, in an order of its own, and tells what it was asked for. */
async function load(there: string, limit: number): Promise<{ found: string[]; asked: string[] }> {
  const asked: string[] = [];
  const found = await loadBest(RANKED, limit, async (some) => {
    asked.push(some.map(({ hit }) => hit.id).join(""));
    return some.flatMap(({ hit }) => (there.includes(hit.id) ? [{ id: hit.id }] : [])).toReversed();
  });
  return { found: found.map(({ text, hit, score }) => `${text.id}${hit.id}${score}`), asked };
}

describe("loading the best", () => {
  test("reads no more than are asked for when all of them are there, and keeps their order", async () => {
    expect(await load("abcde", 2)).toEqual({ found: ["aa0", "bb-1"], asked: ["ab"] });
  });

  test("reads the others when some are gone, and gives no more than asked for", async () => {
    expect(await load("bcde", 2)).toEqual({ found: ["bb-1", "cc-2"], asked: ["ab", "cde"] });
    expect(await load("e", 2)).toEqual({ found: ["ee-4"], asked: ["ab", "cde"] });
    expect(await load("", 2)).toEqual({ found: [], asked: ["ab", "cde"] });
  });
});
