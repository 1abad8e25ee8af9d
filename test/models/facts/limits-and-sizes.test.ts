import { describe, expect, test } from "@jest/globals";
import { type LearnedContext, makeLearnedContexts } from "../../../models/facts/learned-contexts.ts";
import { makeModelFacts } from "../../../models/facts/model-facts.ts";
import { makeTokenCounts } from "../../../models/facts/token-counts.ts";
import { makePromptLimits } from "../../../models/facts/prompt-limits.ts";
import { pictureTokens } from "../../../models/facts/picture-tokens.ts";
import type { Picture } from "../../../turn/picture.ts";
import type { AppError } from "../../../errors/app-error.ts";
import { refusalOf } from "../../../models/facts/refusal.ts";
import { toModelError } from "../../../models/model-error.ts";
import { REFUSALS } from "../refusals.ts";

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

type Size = [width: number, height: number] | null;
const tokensOf = (model: string, size: Size, detail: Picture["detail"] = null): number => {
  const [width, height] = size ?? [0, 0];
  return pictureTokens(model, { detail, file: size && { width, height, hash: "", mediaType: "image/png", byteCount: 1 } });
};
// Those marked with a maker are examples of its own documentation.
test.each<[model: string, size: Size, detail: Picture["detail"], tokens: number, why: string]>([
  ["gpt-4o", [1_024, 1_024], "high", 765, "OpenAI: 4 tiles of 170, and 85"],
  ["gpt-4o", [2_048, 4_096], "high", 1_105, "OpenAI: 6 tiles of 170, and 85"],
  ["gpt-4o", [4_096, 8_192], "low", 85, "OpenAI: no tile"],
  ["gpt-4.1", [1_024, 1_024], null, 765, "as gpt-4o"],
  ["gpt-4o-mini", [1_024, 1_024], null, 25_501, "4 tiles of 5,667, and 2,833"],
  ["gpt-5", [512, 512], null, 210, "1 tile of 140, and 70"],
  ["o3", [512, 512], null, 225, "1 tile of 150, and 75"],
  ["gpt-4.1-mini", [1_024, 1_024], null, 1_659, "1,024 squares of 32, times 1.62"],
  ["gpt-4.1-nano", [1_024, 1_024], null, 2_520, "1,024 squares, times 2.46"],
  ["o4-mini", [4_000, 4_000], null, 2_642, "1,536 squares at most, times 1.72"],
  ["claude-sonnet-4-5", [1_000, 1_000], null, 1_296, "36 by 36 squares of 28"],
  ["claude-sonnet-4-5", [8_000, 6_000], null, 1_568, "the most of these models"],
  ["claude-opus-4-8", [8_000, 6_000], null, 4_784, "the most of newer ones"],
  ["gemini-2.5-flash", [384, 300], null, 258, "Google: a small picture is one tile"],
  ["gemini-2.5-flash", [960, 540], null, 1_548, "Google: 960 by 540 is 6 tiles"],
  ["gemini-3-pro", [960, 540], null, 1_120, "whatever its size"],
  ["qwen2.5-vl-7b-instruct", [1_024, 1_024], null, 1_371, "37 by 37 squares of 28, and 2 around"],
  ["qwen3-vl-8b-instruct", [1_024, 1_024], null, 1_026, "32 by 32 squares of 32, and 2 around"],
  ["nobody-knows-this", [1_024, 1_024], null, 1_369, "37 by 37 squares of 28"],
  ["nobody-knows-this", [20_000, 20_000], null, 4_096, "the most of an unknown model"],
  ["gpt-4o", null, null, 765, "at an address: as 1,536 by 1,536"],
  ["nobody-knows-this", null, null, 3_025, "at an address: 55 by 55 squares"],
])("%s counts a picture of %j, detail %s, as %d tokens: %s", (model, size, detail, tokens) => {
  expect(tokensOf(model, size, detail)).toBe(tokens);
});
test.each(["gpt-4o", "gpt-4.1-mini", "claude-sonnet-4-5", "gemini-2.5-pro", "qwen3-vl", "nobody-knows-this"])(
  "for %s a picture of one pixel, and one that is a line, have at least one token and no more than a large one",
  (model) => {
    const large = tokensOf(model, [4_000, 4_000]);
    for (const size of [
      [1, 1],
      [1, 65_535],
      [65_535, 1],
    ] as const) {
      expect(tokensOf(model, [...size])).toBeGreaterThanOrEqual(1);
      expect(tokensOf(model, [...size])).toBeLessThanOrEqual(Math.max(large, 4_784));
    }
  },
);

const errorOf = (body: { error: object }): AppError => {
  const cause = Object.assign(new Error("400"), { status: 400, error: body.error });
  return toModelError(cause, { purpose: "chat", streaming: false, prompt: [] });
};
test.each(REFUSALS)("a prompt that is too long in the words of %s", (_server, body, limit, prompt) => {
  const error = errorOf(body);
  expect(error.code).toBe("context_too_long");
  expect(refusalOf(error)).toEqual({ limit, prompt });
});
test("another error is no refusal of a length", () => {
  expect(refusalOf(null)).toBeNull();
  expect(refusalOf(errorOf({ error: { message: "Unsupported parameter: 4096", type: "invalid_request_error" } }))).toBeNull();
});
