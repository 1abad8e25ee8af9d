import { describe, expect, test } from "@jest/globals";
import { type MatcherParts, relevantEpisodes, type RelevantParts } from "../../../memory/recall/relevance.ts";
import type { RankedHit } from "../../../memory/recall/rank-hits.ts";
import { lexicalQuery } from "../../../text/lexical-query.ts";

const [MAY, JUNE] = [new Date("2024-05-01T12:00:00Z"), new Date("2024-06-01T12:00:00Z")];
const OF_JUNE = { from: JUNE, until: new Date(JUNE.getTime() + 1) };
const EVIDENCE: MatcherParts = { found: 100, query: lexicalQuery("explain transistor works"), minSimilarity: 0.9, time: null };
/** BM25 of a strong match, and of none. */
const [ENOUGH, LITTLE] = [20, 1];

function episode(id: string, words: number | null, cosine: number | null, createdAt = MAY): RankedHit {
  const hit = { id, score: 1, previousId: null, createdAt, ownerKey: "owner", groupId: "group", attributes: {} };
  return { hit, score: 1, words, cosine };
}

const relevant = (ranked: RankedHit[], parts: Partial<RelevantParts> = {}): string[] =>
  relevantEpisodes(ranked, { match: EVIDENCE, day: null, isWanted: () => true, ...parts }).map(({ hit: { id } }) => id);

describe("relevantEpisodes", () => {
  test("keeps in their order all that share a word, when one of them convinces; else nothing", () => {
    expect(relevant([episode("a", LITTLE, 0.2), episode("b", ENOUGH, 0.1), episode("c", LITTLE, null)])).toEqual(["a", "b", "c"]);
    expect(relevant([episode("a", LITTLE, 0.2), episode("c", LITTLE, null)])).toEqual([]);
    expect(relevant([])).toEqual([]);
  });

  test("keeps what shares no word when it is as near as what convinces is on average", () => {
    const convincing = [episode("a", ENOUGH, 0.75), episode("b", ENOUGH, 0.5)];
    expect(relevant([...convincing, episode("near", null, 0.625)])).toEqual(["a", "b", "near"]);
    expect(relevant([...convincing, episode("far", null, 0.62)])).toEqual(["a", "b"]);
    // What has few of the words says nothing of how near is near.
    expect(relevant([...convincing, episode("few", LITTLE, 0), episode("far", null, 0.62)])).toEqual(["a", "b", "few"]);
  });

  test("keeps what shares no word from the floor on, also when what convinces is nearer still, or its cosine is not known", () => {
    const ranked = [episode("a", ENOUGH, 0.99), episode("near", null, 0.9), episode("far", null, 0.89)];
    expect(relevant(ranked)).toEqual(["a", "near"]);
    expect(relevant([episode("a", ENOUGH, null), episode("near", null, 0.9), episode("far", null, 0.89)])).toEqual(["a", "near"]);
    expect(relevant([episode("far", null, 0.89)])).toEqual([]);
  });

  test("keeps what is of the day that the question names, and takes no measure of nearness from it", () => {
    const ranked = [episode("that day", null, 0.1, JUNE), episode("other", null, 0.2)];
    expect(relevant(ranked, { day: OF_JUNE, match: { ...EVIDENCE, time: OF_JUNE } })).toEqual(["that day"]);
  });

  test("gives nothing that is not wanted, and nothing when only that convinces", () => {
    const isWanted = ({ hit }: RankedHit): boolean => hit.id !== "a";
    expect(relevant([episode("a", ENOUGH, 0.2), episode("b", ENOUGH, 0.2)], { isWanted })).toEqual(["b"]);
    expect(relevant([episode("a", ENOUGH, 0.2), episode("b", LITTLE, 0.2)], { isWanted })).toEqual([]);
  });
});
