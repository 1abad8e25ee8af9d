import { describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { makeBaseVectors, NEUTRAL_SENTENCES } from "../../../nodes/routing/base-vectors.ts";
import { type Nearness, nearnessOf } from "../../../nodes/routing/nearness.ts";
import { chooseNearest, routeShares } from "../../../nodes/routing/route-by-embedding.ts";
import { GENERAL, routeByWords } from "../../../nodes/routing/route-by-words.ts";
import { confidenceBuckets, type JudgedRoute } from "./confidence-buckets.ts";
import { ROUTING_BASES } from "./routing-bases.ts";
import { routingQuestions } from "./routing-questions.ts";

/** What a model came to, kept so that it need not run here: write-nearness.ts writes it anew. */
interface KeptNearness {
  embedder: string;
  of: string;
  nearness: Record<string, Record<string, number>>;
}

const KEPT = JSON.parse(await readFile(new URL("routing-nearness.json", import.meta.url), "utf8")) as KeptNearness;

function keptNearness(text: string): Nearness[] {
  const figures = Object.entries(KEPT.nearness[text] ?? {}).map(([prefix, nearness]) => ({ prefix, nearness }));
  return figures.sort((one, other) => other.nearness - one.nearness);
}

async function judgeReported(embedder: string, nearest: (text: string) => Promise<Nearness[]>): Promise<JudgedRoute[]> {
  const judged = routingQuestions("reported").map(async ({ text, gold }) => {
    const { decision, candidates } = routeByWords({ message: text, requested: null, agentType: "hybrid_agent", bases: ROUTING_BASES });
    if (candidates.length === 0) return { isRight: decision.kb_prefix === gold, confidence: decision.confidence };
    const { prefix, confidence } = chooseNearest(await nearest(text), { isTie: false, embedder });
    return { isRight: (prefix ?? GENERAL) === gold, confidence };
  });
  return Promise.all(judged);
}

const shareRight = (judged: readonly JudgedRoute[]): number => judged.filter(({ isRight }) => isRight).length / judged.length;

/** The mean distance of what is expected and what is observed, each bucket by its decisions. */
function calibrationError(judged: readonly JudgedRoute[]): number {
  const buckets = confidenceBuckets(judged);
  return buckets.reduce((sum, { count, expected, observed }) => sum + (count * Math.abs(expected - observed)) / judged.length, 0);
}

async function judgeBuiltIn(): Promise<JudgedRoute[]> {
  const embedder = makeHashedEmbedder({});
  const vectors = await makeBaseVectors(embedder)("t", ROUTING_BASES);
  return judgeReported(embedder.name, async (text) => nearnessOf(await embedder.embedQuestion(text), vectors));
}

describe("confidence, on questions that no figure was chosen on", () => {
  test.each<[string, () => Promise<JudgedRoute[]>, number]>([
    ["the built-in embedder", judgeBuiltIn, 0.5],
    ["e5", () => judgeReported(KEPT.embedder, async (text) => keptNearness(text)), 0.75],
  ])("is the share of right decisions with %s", async (_, judge, least) => {
    const judged = await judge();
    expect(judged.length).toBeGreaterThan(70);
    expect(shareRight(judged)).toBeGreaterThan(least);
    expect(calibrationError(judged)).toBeLessThan(0.08);
    const filled = confidenceBuckets(judged).filter(({ count }) => count >= 8);
    expect(filled.length).toBeGreaterThan(1);
    for (const { count, expected, observed } of filled)
      expect(Math.abs(expected - observed)).toBeLessThan(0.03 + 2 * Math.sqrt((expected * (1 - expected)) / count));
  });

  test("would not pass if it said 0.9 of everything, or half of what it should", async () => {
    const judged = await judgeReported(KEPT.embedder, async (text) => keptNearness(text));
    expect(calibrationError(judged.map((route) => ({ ...route, confidence: 0.9 })))).toBeGreaterThan(0.08);
    expect(calibrationError(judged.map((route) => ({ ...route, confidence: route.confidence / 2 })))).toBeGreaterThan(0.08);
  });

  test("is judged with figures of the texts as they are", () => {
    const of = createHash("sha256")
      .update(JSON.stringify([NEUTRAL_SENTENCES, ROUTING_BASES]))
      .digest("hex");
    expect(KEPT.of).toBe(of);
    const asked = [...routingQuestions("chosen"), ...routingQuestions("reported")].map(({ text }) => text);
    expect(Object.keys(KEPT.nearness).toSorted()).toEqual(asked.toSorted());
  });
});

describe("the shares", () => {
  const at = (...nearness: number[]): Nearness[] => nearness.map((value, index) => ({ prefix: `base${index}`, nearness: value }));

  test.each(["built-in-hashed-1", "any-model"])("grow and fall with nearness, and with the lead: %s", (embedder) => {
    const steps = [-3, 0, 1, 2, 3, 4, 6, 9].map((nearness) => routeShares(at(nearness, 0), embedder));
    const nearest = steps.map((share) => share.nearest);
    const general = steps.map((share) => share.general);
    expect(nearest).toEqual(nearest.toSorted((one, other) => one - other));
    expect(general).toEqual(general.toSorted((one, other) => other - one));
    for (const share of [...nearest, ...general]) {
      expect(share).toBeGreaterThan(0);
      expect(share).toBeLessThan(1);
    }
    expect(routeShares(at(5, 4.9), embedder).nearest).toBeLessThan(routeShares(at(5, 2), embedder).nearest);
  });
});

describe("nearness", () => {
  test("is the same whatever the scale of an embedder's cosines", async () => {
    const embedder = makeHashedEmbedder({});
    const vectors = await makeBaseVectors(embedder)("t", ROUTING_BASES);
    // Models as E5 have a large part in common to all vectors: cosines of 0.7 to 1 instead of 0 to 1.
    const narrow = <Vector extends ArrayLike<number>>(vector: Vector): number[] => [
      Math.sqrt(0.7),
      ...Array.from(vector, (value) => value * Math.sqrt(0.3)),
    ];
    const narrowed = (texts: (typeof vectors)["neutral"]) =>
      texts.map((text) => ({ ...text, vector: Float32Array.from(narrow(text.vector)) }));
    const others = { neutral: narrowed(vectors.neutral), bases: vectors.bases.map((base) => ({ ...base, texts: narrowed(base.texts) })) };
    for (const { text } of routingQuestions("chosen").slice(0, 20)) {
      const question = await embedder.embedQuestion(text);
      const plain = nearnessOf(question, vectors);
      for (const [index, { prefix, nearness }] of nearnessOf(narrow(question), others).entries()) {
        expect(prefix).toBe(plain[index]?.prefix);
        expect(nearness).toBeCloseTo(plain[index]?.nearness ?? Number.NaN, 2);
      }
    }
  });
});
