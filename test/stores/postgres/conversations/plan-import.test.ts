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

describe("pairByOrder", () => {
  test.each([
    ["nothing", "", []],
    ["a question", "u", []],
    ["an answer before its question", "au", []],
    ["a question and its answer", "ua", ["01"]],
    ["runs of several", "aauaaua", ["23", "56"]],
    ["two questions whose times cross those of their answers", "uuaa", ["02", "13"]],
    ["the last of several questions with one answer", "uuua", ["23"]],
    ["the first of several answers with one question", "uaaa", ["01"]],
    ["the last two of three questions", "uuuaa", ["13", "24"]],
    ["nobody across a message that is not free", "uxa", []],
    ["those behind a message that is not free", "uxua", ["23"]],
    ["those before a message that is not free", "uaxa", ["01"]],
  ])("pairs %s", (_name, line, pairs) => expect(pairsOf(line)).toEqual(pairs));

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
