import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { pairMessages } from "../../../memory/episodes/pair-messages.ts";

/** Messages from a line of u and a, numbered from 0; pairs come back as "01", "34". */
function pairsOf(line: string): string[] {
  const messages = [...line].map((letter, number) => ({ role: letter === "u" ? ("user" as const) : ("assistant" as const), number }));
  return pairMessages(messages).map(({ asked, answer }) => `${asked.number}${answer.number}`);
}

describe("pairMessages", () => {
  test.each([
    ["", []],
    ["u", []],
    ["a", []],
    ["ua", ["01"]],
    ["uaua", ["01", "23"]],
  ])("makes of %j the pairs %j", (line, pairs) => {
    expect(pairsOf(line)).toEqual(pairs);
  });

  test("leaves out an answer to nothing and a second answer", () => {
    expect(pairsOf("aauaaua")).toEqual(["23", "56"]);
  });

  test("of several messages in a row pairs the last with the answer", () => {
    expect(pairsOf("uuua")).toEqual(["23"]);
  });

  test("property: every pair is a user's message and the answer right behind it, each message in one pair at most, in order", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("user" as const, "assistant" as const), { maxLength: 30 }), (roles) => {
        const messages = roles.map((role, number) => ({ role, number }));
        const pairs = pairMessages(messages);
        for (const { asked, answer } of pairs) {
          expect([asked.role, answer.role, answer.number - asked.number]).toEqual(["user", "assistant", 1]);
        }
        const places = pairs.flatMap(({ asked, answer }) => [asked.number, answer.number]);
        expect(places).toEqual([...new Set(places)].sort((one, other) => one - other));
        const expected = roles.filter((role, number) => role === "user" && roles[number + 1] === "assistant").length;
        expect(pairs).toHaveLength(expected);
      }),
    );
  });
});
