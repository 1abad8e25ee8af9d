import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type MatcherParts,
  type RankedHit,
  relevantEpisodes,
  type RelevantParts,
  strongMatcher,
} from "../../../memory/recall/rank-hits.ts";
import { lexicalQuery } from "../../../text/lexical-text.ts";
import { openRecallSet, ownerOf } from "../../../benchmarks/support/recall/open-set.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";
import { ANSWER, readPairs, readRecordedEmbedder, UNRELATED } from "./language-vectors.ts";

const [MAY, JUNE] = [new Date("2024-05-01T12:00:00Z"), new Date("2024-06-01T12:00:00Z")];
const OF_JUNE = { from: JUNE, until: new Date(JUNE.getTime() + 1) };
/** A hundred found: a word that one of them has weighs 4.2, and a word of a question counts four times. */
const HUNDRED: MatcherParts = { found: 100, query: lexicalQuery("explain transistor works"), near: 0.9, time: null };
/** BM25 of a strong match, and of none. */
const [ENOUGH, LITTLE] = [4 * 4.2, 4 * 1.5];
function hitOf(id: string, words: number | null, cosine: number | null, createdAt = MAY): RankedHit {
  const hit = { id, score: 1, script: "other" as const, previousId: null, createdAt, ownerKey: "owner", groupId: "group", attributes: {} };
  return { hit, score: 1, words, nearness: cosine };
}
describe("relevantEpisodes", () => {
  const relevant = (ranked: RankedHit[], parts: Partial<RelevantParts> = {}): string[] =>
    relevantEpisodes(ranked, { match: HUNDRED, day: null, isWanted: () => true, ...parts }).map(({ hit: { id } }) => id);

  test("keeps in their order all that share a word, when one of them convinces; else nothing", () => {
    expect(relevant([hitOf("a", LITTLE, 0.2), hitOf("b", ENOUGH, 0.1), hitOf("c", LITTLE, null)])).toEqual(["a", "b", "c"]);
    expect(relevant([hitOf("a", LITTLE, 0.2), hitOf("c", LITTLE, null)])).toEqual([]);
    expect(relevant([])).toEqual([]);
  });

  test("keeps what shares no word when it is as near as what convinces is on average", () => {
    const convincing = [hitOf("a", ENOUGH, 0.75), hitOf("b", ENOUGH, 0.5)];
    expect(relevant([...convincing, hitOf("near", null, 0.625)])).toEqual(["a", "b", "near"]);
    expect(relevant([...convincing, hitOf("few", LITTLE, 0), hitOf("far", null, 0.62)])).toEqual(["a", "b", "few"]);
  });

  test("keeps what shares no word from the floor on, also when what convinces is nearer still, or its cosine is not known", () => {
    for (const cosine of [0.99, null])
      expect(relevant([hitOf("a", ENOUGH, cosine), hitOf("near", null, 0.9), hitOf("far", null, 0.89)])).toEqual(["a", "near"]);
    expect(relevant([hitOf("far", null, 0.89)])).toEqual([]);
  });

  test("keeps what is of the day that the question names, and takes no measure of nearness from it", () => {
    const ranked = [hitOf("that day", null, 0.1, JUNE), hitOf("other", null, 0.2)];
    expect(relevant(ranked, { day: OF_JUNE, match: { ...HUNDRED, time: OF_JUNE } })).toEqual(["that day"]);
  });

  test("gives nothing that is not wanted, and nothing when only that convinces", () => {
    const isWanted = ({ hit }: RankedHit): boolean => hit.id !== "a";
    expect(relevant([hitOf("a", ENOUGH, 0.2), hitOf("b", ENOUGH, 0.2)], { isWanted })).toEqual(["b"]);
    expect(relevant([hitOf("a", ENOUGH, 0.2), hitOf("b", LITTLE, 0.2)], { isWanted })).toEqual([]);
  });
});
describe("strongMatcher", () => {
  const isStrong = (words: number | null, cosine: number | null, parts: Partial<MatcherParts> = {}): boolean =>
    strongMatcher({ ...HUNDRED, ...parts })(hitOf("a", words, cosine));
  const chinese = { query: lexicalQuery("木头有几颗卫星？") };

  test.each<[string, boolean, number | null, number | null, Partial<MatcherParts>]>([
    ["a rare word", true, ENOUGH, null, {}],
    ["a common word", false, LITTLE, null, {}],
    ["a single Chinese character, even a rare one", false, 4.2, null, chinese],
    ["a pair of Chinese characters", true, 4.2 * 6, null, chinese],
    ["a near meaning without a word", true, null, 0.9, {}],
    ["a near meaning with a common word", true, 1, 0.95, {}],
    ["a meaning less near", false, null, 0.89, {}],
    ["neither words nor meaning", false, null, null, {}],
    ["the first moment of the time that the question names", true, 0.1, 0.1, { time: { from: MAY, until: JUNE } }],
    ["the moment after that time", false, 0.1, 0.1, { time: { from: new Date(0), until: MAY } }],
  ])("takes %s for evidence: %j", (_name, strong, words, cosine, parts) => expect(isStrong(words, cosine, parts)).toBe(strong));

  test.each([1, 2, 3, 5, 10])(
    "takes any one word of four for evidence when only %d are found, as all are rare or common at once",
    (found) => {
      const idf = Math.log(1 + (found - 0.5) / 1.5);
      expect(isStrong(4 * idf, null, { query: lexicalQuery("name colour sister bicycle"), found })).toBe(true);
    },
  );

  test("asks no more words of a message of a hundred words than of a question of four", () => {
    const words = Array.from({ length: 100 }, (_, index) => `word${index}`);
    for (const text of [words, words.slice(0, 4)].map((some) => some.join(" ")))
      expect([8, 12].map((score) => isStrong(score, null, { query: lexicalQuery(text) }))).toEqual([false, true]);
  });

  test("property: more of the question is never less evidence", () => {
    const score = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(score, score, fc.integer({ min: 0, max: 200 }), (one, more, found) => {
        expect(isStrong(one + more, null, { found }) || !isStrong(one, null, { found })).toBe(true);
      }),
    );
  });
});

const PAIRS = await readPairs();
const AT = new Date("2026-11-20T10:00:00Z");
const messages = PAIRS.flatMap(([said], place): MessageToImport[] => {
  const createdAt = new Date(AT.getTime() + place * 60_000);
  const message = (role: "user" | "assistant", content: string) => ({ role, content, createdAt, metadata: {} });
  return [message("user", said), message("assistant", ANSWER)];
});
const MOST_MISSED = 8;
describe("what was said in one language and is asked in another", () => {
  /** The questions whose answer is not among the first five, and the unrelated ones that find anything. */
  async function missedBy(embedder: Embedder) {
    await using opened = await openRecallSet({ histories: [{ messages, questions: [] }] }, embedder, () => undefined);
    const recall = opened.recall("fused", new Date(AT.getTime() + 86_400_000));
    const ask = async (question: string) => (await recall({ ...ownerOf(0), question, limit: 5 })).episodes;
    const found = await Promise.all(PAIRS.map(async ([said, asked]) => (await ask(asked)).some((one) => one.userMessage === said)));
    const [nearest] = await ask(PAIRS[0]?.[1] ?? "");
    expect(Math.abs(nearest?.similarity ?? 0)).toBeLessThanOrEqual(1); // a cosine, whatever it is ranked by
    const unrelated = await Promise.all(UNRELATED.map(async (question) => ((await ask(question)).length > 0 ? [question] : [])));
    return { missed: PAIRS.filter((_, place) => !found[place]), unrelated: unrelated.flat() };
  }

  test("is among the first five with the built-in embedder where a name, a number or a loanword is in both", async () => {
    const { missed } = await missedBy(makeHashedEmbedder({}));
    expect(missed.filter(([, , carries]) => carries === "yes")).toEqual([]);
  });

  test("is among the first five with multilingual-e5-small for 32 of 40 pairs, and what nobody told is not found", async () => {
    const { missed, unrelated } = await missedBy(await readRecordedEmbedder());
    expect(missed.map(([, asked]) => asked).slice(MOST_MISSED)).toEqual([]);
    expect(unrelated).toEqual([]);
  });

  test("is found less by the same vectors when their cosines are not counted within a script", async () => {
    const plain = { ...(await readRecordedEmbedder()), favoursScripts: false, minSimilarity: 0.86 };
    expect((await missedBy(plain)).missed.length).toBeGreaterThan(2 * MOST_MISSED);
  });
});
