import { describe, expect, test } from "@jest/globals";
import { callKey, makeLoopGuard } from "../../../agents/loop/loop-guard.ts";

const parse = (text: string): unknown => JSON.parse(text);

test.each<[what: string, one: string, other: string, isSame: boolean]>([
  ["the order of keys", '{"a": 1, "b": {"c": 2, "d": 3}}', '{"b":{"d":3,"c":2},"a":1}', true],
  ["blanks between them", '{ "a" :\n[1 , 2] }', '{"a":[1,2]}', true],
  ["the form of numbers", '{"a": 1.0, "b": 1e2, "c": -0}', '{"a": 1, "b": 100, "c": 0}', true],
  ["how characters are written", '{"a": "\\u8336"}', '{"a": "茶"}', true],
  ["the order of a list", '{"a": [1, 2]}', '{"a": [2, 1]}', false],
  ["a number and a text", '{"a": 1}', '{"a": "1"}', false],
  ["blanks within a text", '{"a": "x y"}', '{"a": "x  y"}', false],
  ["null and nothing", '{"a": null}', "{}", false],
])("calls that differ in %s are the same: %s, %s, %s", (_what, one, other, isSame) => {
  expect(callKey("tool", parse(one)) === callKey("tool", parse(other))).toBe(isSame);
  expect(callKey("tool", parse(one))).not.toBe(callKey("another", parse(one)));
});

/** What the guard says of each call; `at` in seconds. */
function countsOf(calls: readonly (readonly [key: string, at: number])[]): (number | null)[] {
  const guard = makeLoopGuard();
  return calls.map(([key, at]) => guard.noteCall({ key, at: at * 1_000 }));
}
const each = (keys: string, seconds: number) => [...keys].map((key, index) => [key, index * seconds] as const);

describe("a loop is", () => {
  test.each<[what: string, calls: readonly (readonly [string, number])[], counts: (number | null)[]]>([
    ["the third of the same calls", each("AAA", 1), [null, null, 3]],
    ["each one behind it", each("AAAA", 1), [null, null, 3, 4]],
    ["the third within a minute", each("AAA", 30), [null, null, 3]],
    ["not the third after more than a minute", each("AAAA", 31), [null, null, null, null]],
    ["two calls that take turns", each("ABABAB", 1), [null, null, null, null, 3, 3]],
    ["two calls that take turns slowly", each("ABABAB", 100), [null, null, null, null, null, 3]],
    ["not the same call now and then", each("AABCDEFGHIJA", 1), Array(12).fill(null) as null[]],
    ["three among ten", each("ABCDEFGHAA", 1), [...(Array(9).fill(null) as null[]), 3]],
    ["not three among eleven", each("ABCDEFGHIAA", 1), Array(11).fill(null) as null[]],
    ["three that take turns", each("ABCABCABC", 1), [...(Array(6).fill(null) as null[]), 3, 3, 3]],
  ])("%s", (_what, calls, counts) => {
    expect(countsOf(calls)).toEqual(counts);
  });

  test("counted anew when somebody says so", () => {
    const guard = makeLoopGuard();
    const call = { key: "A", at: 0 };
    const counts = (): (number | null)[] => [1, 2, 3].map(() => guard.noteCall(call));
    expect(counts()).toEqual([null, null, 3]);
    guard.startAnew();
    expect(counts()).toEqual([null, null, 3]);
  });

  test("counted with the calls before, which are known already", () => {
    const guard = makeLoopGuard([
      { key: "A", at: 0 },
      { key: "A", at: 1 },
    ]);
    expect(guard.noteCall({ key: "A", at: 2 })).toBe(3);
  });
});

describe("a failure repeats itself", () => {
  const failure = { name: "fetch", output: "away" };
  test("when it comes in the third round, however often it came in one", () => {
    const guard = makeLoopGuard();
    const rounds = [1, 1, 1, 2, 2, 3];
    expect(rounds.map((round) => guard.noteFailure({ ...failure, round }))).toEqual([false, false, false, false, false, true]);
  });
  test("only when the tool and the words are the same", () => {
    const guard = makeLoopGuard(
      [],
      [1, 2].map((round) => ({ ...failure, round })),
    );
    expect(guard.noteFailure({ ...failure, name: "search", round: 3 })).toBe(false);
    expect(guard.noteFailure({ ...failure, output: "not found", round: 3 })).toBe(false);
    expect(guard.noteFailure({ ...failure, round: 3 })).toBe(true);
  });
});
