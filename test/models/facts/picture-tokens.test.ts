import { expect, test } from "@jest/globals";
import { pictureTokens } from "../../../models/facts/picture-tokens.ts";
import type { Picture } from "../../../turn/picture.ts";

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
