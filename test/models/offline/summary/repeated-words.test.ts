import { describe, expect, test } from "@jest/globals";
import { repeatedShares } from "../../../../models/offline/offline-summary.ts";

describe("repeatedShares", () => {
  test("is the share of a sentence's words that earlier ones have, in any case and order", () => {
    expect(repeatedShares(["Red boats sail", "sail RED boats", "red cars sail fast", "nothing else"])).toEqual([0, 1, 0.5, 0]);
  });

  test("compares pairs of Chinese characters, and words between them", () => {
    expect(repeatedShares(["我住在上海", "住在上海", "他住北京", "去Oslo", "Oslo"])).toEqual([0, 1, 0, 0, 1]);
  });

  test("is not led by words that every sentence has, and is 0 for a sentence without others", () => {
    expect(repeatedShares(["I am in the boat", "I am in the car", "you and I", "!"])).toEqual([0, 0, 0, 0]);
  });
});
