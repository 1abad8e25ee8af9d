import { describe, expect, test } from "@jest/globals";
import { makeCosineScale } from "../../../memory/recall/cosine-scale.ts";
import type { SearchHit } from "../../../stores/search/contract/search-index.ts";
import { type Script, scriptOf } from "../../../text/script-of.ts";

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
