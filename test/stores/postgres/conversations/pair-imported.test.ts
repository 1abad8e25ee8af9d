import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { pairByOrder } from "../../../../stores/postgres/conversations/plan-import.ts";

/** Messages from a line of u and a, and of x for one that is not free, numbered from 0; pairs come back as "01", "34". */
function pairsOf(line: string): string[] {
  const messages = [...line].map((letter, number) => {
    return { id: String(number), role: letter === "a" ? ("assistant" as const) : ("user" as const), isFree: letter !== "x" };
  });
  return pairByOrder(messages).map((pair) => pair.join(""));
}

describe("pairImported", () => {
  test.each([
    ["", []],
    ["u", []],
    ["a", []],
    ["au", []],
    ["ua", ["01"]],
    ["uaua", ["01", "23"]],
    ["aauaaua", ["23", "56"]],
  ])("makes of %j the pairs %j", (line, pairs) => {
    expect(pairsOf(line)).toEqual(pairs);
  });

  test("pairs two questions whose times cross those of their answers one by one", () => {
    expect(pairsOf("uuaa")).toEqual(["02", "13"]);
  });

  test("pairs the last of several questions with one answer, and the first of several answers with one question", () => {
    expect([pairsOf("uuua"), pairsOf("uaaa"), pairsOf("uuuaa")]).toEqual([["23"], ["01"], ["13", "24"]]);
  });

  test("pairs nobody across a message that is not free", () => {
    expect([pairsOf("uxa"), pairsOf("uxua"), pairsOf("uaxa")]).toEqual([[], ["23"], ["01"]]);
  });

  test("property: every pair is a question and a later answer, and each message is in one pair at most", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[uax]{0,9}$/), (line) => {
        const places = pairsOf(line).map((pair) => [...pair].map(Number));
        for (const [asked = 0, answer = 0] of places) {
          expect([line[asked], line[answer]]).toEqual(["u", "a"]);
          expect(asked).toBeLessThan(answer);
        }
        expect(new Set(places.flat()).size).toBe(2 * places.length);
      }),
    );
  });
});
