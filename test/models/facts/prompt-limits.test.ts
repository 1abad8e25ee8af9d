import { describe, expect, test } from "@jest/globals";
import { type LearnedContext, makeLearnedContexts } from "../../../models/facts/learned-contexts.ts";
import { makeModelFacts } from "../../../models/facts/model-facts.ts";
import { makeTokenCounts } from "../../../models/facts/token-counts.ts";
import { makePromptLimits } from "../../../models/facts/prompt-limits.ts";

const DAY_MS = 86_400_000;

function limitsOf(known: number, longestAnswer = 1_000) {
  let now = 0;
  const saved: LearnedContext[] = [];
  const learned = makeLearnedContexts({ save: (one) => saved.push(one), now: () => new Date(now) });
  return {
    learned,
    saved,
    pass: (ms: number) => (now += ms),
    ...makePromptLimits({ known: () => known, longestAnswer, learned, counts: makeTokenCounts() }),
  };
}

describe("the most tokens of a prompt", () => {
  test("are what is known until a server refuses one, then what its context leaves", () => {
    const { of, refused, saved } = limitsOf(100_000);
    expect(of("m")).toBe(100_000);
    const again = refused("m", { limit: 3_000, prompt: 4_000 }, 4_000);
    expect(of("m")).toBe(Math.floor(3_000 * 0.85 * 0.9));
    expect(again).toBe(of("m"));
    expect(of("another")).toBe(100_000);
    expect(saved).toMatchObject([{ model: "m", tokens: 3_000 }]);
  });

  test("are less for the second attempt when the server counts more than the estimate", () => {
    const { of, refused } = limitsOf(100_000);
    expect(refused("m", { limit: 3_000, prompt: 4_000 }, 2_000)).toBe(Math.floor(of("m") / 2));
  });

  test("are guessed in this process alone when the server does not say how many, and become less with each refusal", () => {
    const { of, refused, saved } = limitsOf(100_000);
    const first = refused("m", { limit: null, prompt: null }, 10_000);
    expect(first).toBeLessThan(8_000);
    expect(refused("m", { limit: null, prompt: null }, first)).toBeLessThan(first);
    expect(of("m")).toBeLessThan(first);
    expect(saved).toEqual([]);
  });

  test("leave room for the answer when a prompt that fits was refused with it", () => {
    const { refused } = limitsOf(3_500, 2_000);
    expect(refused("m", { limit: 4_096, prompt: 3_000 }, 3_000)).toBeLessThanOrEqual(1_500);
  });

  test("leave the answer what a prompt leaves of a known context, when that is less than the longest answer", () => {
    const learned = makeLearnedContexts();
    const contextOf = (model: string): number | null => (model === "known" ? 4_096 : null);
    const parts = { known: () => 3_000, longestAnswer: 2_000, learned, counts: makeTokenCounts() };
    const { answerTokens } = makePromptLimits({ ...parts, contextOf });
    expect(answerTokens("known", 100)).toBeUndefined();
    expect(answerTokens("known", 2_700)).toBe(4_096 - 3_000);
    expect(answerTokens("known", 9_000)).toBe(64);
    expect(answerTokens("unknown", 9_000)).toBeUndefined();
    learned.learn("unknown", 3_000, { isTold: true });
    expect(answerTokens("unknown", 1_800)).toBe(1_000);
  });

  test("are believed for a week, or until the server tells another context", () => {
    const { of, refused, learned, pass } = limitsOf(100_000);
    refused("m", { limit: 3_000, prompt: 4_000 }, 4_000);
    pass(6 * DAY_MS);
    expect(of("m")).toBeLessThan(3_000);
    pass(2 * DAY_MS);
    expect(of("m")).toBe(100_000);
    refused("m", { limit: 3_000, prompt: 4_000 }, 4_000);
    learned.replace("m", new Date(0));
    expect(of("m")).toBeLessThan(3_000);
    learned.replace("m", new Date(30 * DAY_MS));
    expect(of("m")).toBe(100_000);
  });
});

test("a fact names the refusal as its source", () => {
  const learned = makeLearnedContexts();
  const facts = makeModelFacts({ profiles: { own: { context_window: 16_000 } }, ask: null, learned });
  learned.learn("own", 20_000, { isTold: true });
  expect(facts.of("own")).toMatchObject({ context_window: 16_000, sources: { context_window: "file" } });
  learned.learn("own", 4_096, { isTold: true });
  expect(facts.of("own")).toMatchObject({ context_window: 4_096, sources: { context_window: "refusal" } });
});
