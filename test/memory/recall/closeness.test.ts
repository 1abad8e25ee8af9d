import { describe, expect, test } from "@jest/globals";
import { makeCosineScale } from "../../../memory/recall/cosine-scale.ts";
import type { SearchHit } from "../../../stores/search/contract/search-index.ts";
import { type Script, scriptOf } from "../../../text/script-of.ts";
import { embedTalk, talkOf, talkQuery } from "../../../memory/recall/talk.ts";

/** One number tells the topic, one the script; neutral sentences vary a little. */
const vectorOf = (topic: number, script: Script): number[] => [topic, script === "han" ? 0.5 : -0.5];
const SPREAD = 0.02;
function makeLearned() {
  const asked: (readonly string[])[] = [];
  const embedder = {
    favoursScripts: true,
    minSimilarity: 0.86,
    async embedPassages(texts: readonly string[]): Promise<number[][]> {
      asked.push(texts);
      if (asked.length === 1) throw new Error("It is still starting.");
      return texts.map((text, place) => vectorOf(place % 2 === 0 ? SPREAD : -SPREAD, scriptOf(text)));
    },
  };
  return { embedder, asked };
}
const QUESTION = [1, 0.5];
const hit = (cosine: number, script: Script): SearchHit => {
  return { id: "a", score: cosine, script, ownerKey: "", groupId: "", previousId: null, createdAt: new Date(0), attributes: {} };
};
/** The cosine of the question and a text. */
function cosineTo(topic: number, script: Script): number {
  const [one = 0, other = 0] = vectorOf(topic, script);
  return ((QUESTION[0] ?? 0) * one + (QUESTION[1] ?? 0) * other) / Math.hypot(...QUESTION);
}
describe("the scale of cosines", () => {
  test("counts a text of another script like the same text in the question's", async () => {
    const scale = makeCosineScale(makeLearned().embedder, undefined);
    await expect(scale(QUESTION)).rejects.toThrow("still starting");
    const { nearness, near } = await scale(QUESTION);
    const [own, other] = (["han", "other"] as const).map((script) => nearness(hit(cosineTo(0.5, script), script)));
    expect(other).toBeCloseTo(own ?? 0, 6);
    expect(own).toBeGreaterThan(near);
    expect(nearness(hit(cosineTo(SPREAD, "han"), "han"))).toBeLessThan(near);
  });

  test("takes a least cosine as one in the question's script", async () => {
    const scale = makeCosineScale(makeLearned().embedder, cosineTo(0.3, "han"));
    await scale(QUESTION).catch(() => undefined);
    const { nearness, near } = await scale(QUESTION);
    for (const script of ["han", "other"] as const) {
      expect(nearness(hit(cosineTo(0.31, script), script))).toBeGreaterThan(near);
      expect(nearness(hit(cosineTo(0.29, script), script))).toBeLessThan(near);
    }
  });

  test("asks for neutral sentences once, also for several searches", async () => {
    const { embedder, asked } = makeLearned();
    const scale = makeCosineScale(embedder, undefined);
    await scale(QUESTION).catch(() => undefined);
    await Promise.all([scale(QUESTION), scale(QUESTION)]);
    await scale([0, 1]);
    expect(asked).toHaveLength(2);
  });

  test("leaves the cosines of an embedder as they are that favours no script, and asks it for nothing", async () => {
    const { embedder, asked } = makeLearned();
    const { nearness, near } = await makeCosineScale({ ...embedder, favoursScripts: false }, undefined)(QUESTION);
    expect([nearness(hit(0.7, "han")), nearness(hit(0.7, "other")), near]).toEqual([0.7, 0.7, 0.86]);
    expect(asked).toEqual([]);
  });
});

const user = (content: string) => ({ role: "user" as const, content });
const assistant = (content: string) => ({ role: "assistant" as const, content });
const RECENT = [
  user("I play the cello."),
  user("We flew to Lisbon."),
  assistant("Nice."),
  user("The garden is flooded."),
  user("ok, thanks"),
];
function wordsOf(question: string): Record<string, number> {
  const words = talkQuery(talkOf(question, RECENT)).split(" ");
  return Object.fromEntries(words.map((word) => [word, words.filter((other) => other === word).length]));
}
describe("the talk of a search", () => {
  test("has the user's last messages before a remark at falling weight, without small talk and answers", () => {
    expect(talkOf("My bicycle rusts.", RECENT)).toEqual([
      { text: "My bicycle rusts.", weight: 1 },
      { text: "The garden is flooded.", weight: 0.5 },
      { text: "We flew to Lisbon.", weight: 0.25 },
      { text: "I play the cello.", weight: 0.25 },
    ]);
    expect(wordsOf("My bicycle rusts.")).toMatchObject({ bicycl: 4, rust: 4, garden: 2, lisbon: 1, cello: 1 });
  });

  test.each(["Where did I leave the bicycle?", "自行车在哪里？"])("counts less before %j, which may change the topic", (question) => {
    expect(talkOf(question, RECENT).map(({ weight }) => weight)).toEqual([1, 0.25, 0.125, 0.125]);
  });

  test("counts a word of several messages once, at its greatest weight", () => {
    expect(wordsOf("The garden smells.")).toMatchObject({ garden: 4, smell: 4 });
  });

  test("is the question alone where nothing was said", async () => {
    expect(talkOf("Where is it?", [])).toEqual([{ text: "Where is it?", weight: 1 }]);
    expect(await embedTalk(talkOf("Where?", []), async () => [0.6, 0.8])).toEqual([0.6, 0.8]);
  });

  test("has the weighted sum of its messages' vectors", async () => {
    const vectors: Record<string, number[]> = { now: [1, 0], before: [0, 1] };
    const talk = [
      { text: "now", weight: 1 },
      { text: "before", weight: 0.5 },
    ];
    expect(await embedTalk(talk, async (text) => vectors[text] ?? [])).toEqual([1, 0.5]);
  });
});
