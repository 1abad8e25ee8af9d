import { describe, expect, test } from "@jest/globals";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { type BaseVectors, makeBaseVectors, type Nearness, nearnessOf } from "../../../nodes/routing/nearness.ts";
import { chooseNearest, routeShares } from "../../../nodes/routing/route-by-embedding.ts";
import { routeByWords } from "../../../nodes/routing/route-by-words.ts";
import { GENERAL } from "../../../turn/state.ts";
import { readRoutingTable, ROUTING_BASES, routingHash, type RoutingQuestion } from "./routing-table.ts";

/** A decision of the router, whether it was right, and how sure it said it was. */
type JudgedRoute = { isRight: boolean; confidence: number };

const table = await readRoutingTable();
const builtIn = makeHashedEmbedder({});
const vectors = await makeBaseVectors(builtIn)("t", ROUTING_BASES);

async function judgeReported(embedder: string, nearest: (question: RoutingQuestion) => Promise<Nearness[]>): Promise<JudgedRoute[]> {
  const reported = table.questions.filter(({ half }) => half === "reported");
  const judged = reported.map(async (question) => {
    const { text: message, gold } = question;
    const { decision, candidates } = routeByWords({ message, requested: null, agentType: "hybrid_agent", bases: ROUTING_BASES });
    if (candidates.length === 0) return { isRight: decision.kb_prefix === gold, confidence: decision.confidence };
    const { prefix, confidence } = chooseNearest(await nearest(question), { isTie: false, embedder });
    return { isRight: (prefix ?? GENERAL) === gold, confidence };
  });
  return Promise.all(judged);
}
const judgeBuiltIn = () => judgeReported(builtIn.name, async ({ text }) => nearnessOf(await builtIn.embedQuestion(text), vectors));
const judgeE5 = () => judgeReported(table.embedder, async ({ nearest }) => nearest);

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const shareRight = (judged: readonly JudgedRoute[]): number => mean(judged.map(({ isRight }) => Number(isRight)));

/** Decisions of about the same confidence: the share that should be right by it, and the share that is. */
function confidenceBuckets(judged: readonly JudgedRoute[]): { count: number; expected: number; observed: number }[] {
  return [0, 0.4, 0.6, 0.8, 0.9].flatMap((from, index, edges) => {
    const inside = judged.filter(({ confidence }) => confidence >= from && confidence < (edges[index + 1] ?? 2));
    if (inside.length === 0) return [];
    return [{ count: inside.length, expected: mean(inside.map(({ confidence }) => confidence)), observed: shareRight(inside) }];
  });
}

/** The mean distance of what is expected and what is observed, each bucket by its decisions. */
function calibrationError(judged: readonly JudgedRoute[]): number {
  const buckets = confidenceBuckets(judged);
  return buckets.reduce((sum, { count, expected, observed }) => sum + (count * Math.abs(expected - observed)) / judged.length, 0);
}

describe("a route's confidence, on questions that no figure was chosen on,", () => {
  test.each<[string, () => Promise<JudgedRoute[]>, number]>([
    ["the built-in embedder", judgeBuiltIn, 0.5],
    ["e5", judgeE5, 0.75],
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

  test("is judged by figures made from the present texts", () => {
    expect(table.hash).toBe(routingHash());
    expect(new Set(table.questions.map(({ text }) => text)).size).toBe(160);
  });
});

test.each(["built-in-hashed-1", "any-model"])("the shares grow and fall with nearness and the lead, with %s", (embedder) => {
  const at = (...nearness: number[]) =>
    routeShares(
      nearness.map((value) => ({ prefix: "base", nearness: value })),
      embedder,
    );
  const steps = [-3, 0, 1, 2, 3, 4, 6, 9].map((nearness) => at(nearness, 0));
  const nearest = steps.map((share) => share.nearest);
  const general = steps.map((share) => share.general);
  expect(nearest).toEqual(nearest.toSorted((one, other) => one - other));
  expect(general).toEqual(general.toSorted((one, other) => other - one));
  expect(Math.min(...nearest, ...general)).toBeGreaterThan(0);
  expect(Math.max(...nearest, ...general)).toBeLessThan(1);
  expect(at(5, 4.9).nearest).toBeLessThan(at(5, 2).nearest);
});

test("nearness stays the same for any scale of an embedder's cosines", async () => {
  // Models as E5 have a large part in common to all vectors: cosines of 0.7 to 1 instead of 0 to 1.
  const narrow = (vector: ArrayLike<number>): number[] => [Math.sqrt(0.7), ...Array.from(vector, (value) => value * Math.sqrt(0.3))];
  const narrowed = (texts: BaseVectors["neutral"]) => texts.map((text) => ({ ...text, vector: Float32Array.from(narrow(text.vector)) }));
  const others = { neutral: narrowed(vectors.neutral), bases: vectors.bases.map((base) => ({ ...base, texts: narrowed(base.texts) })) };
  for (const { text } of table.questions.slice(0, 20)) {
    const question = await builtIn.embedQuestion(text);
    const plain = nearnessOf(question, vectors);
    for (const [index, { prefix, nearness }] of nearnessOf(narrow(question), others).entries()) {
      expect(prefix).toBe(plain[index]?.prefix);
      expect(nearness).toBeCloseTo(plain[index]?.nearness ?? Number.NaN, 2);
    }
  }
});
