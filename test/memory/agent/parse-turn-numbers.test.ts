import { describe, expect, test } from "@jest/globals";
import { parseTurnNumbers } from "../../../memory/agent/memory-tools.ts";

const lines = (...areNew: boolean[]) => areNew.map((isNew) => ({ isNew }));
const read = (given: unknown, areNew: boolean[], count = 5): unknown => {
  const parsed = parseTurnNumbers(given, { lines: lines(...areNew), count });
  return "refused" in parsed ? parsed.refused : parsed.turns;
};

describe("the turns that a model names for lines", () => {
  test.each<[string, unknown, boolean[], number[][]]>([
    ["one list for each line", [[1], [2, 3]], [true, true], [[1], [2, 3]]],
    ["an empty list for a line that stays", [[], [2]], [false, true], [[], [2]]],
    ["nothing", undefined, [true, true], [[], []]],
    ["null", null, [true], [[]]],
    ["a flat list for all new lines", [2, 4], [true, false, true], [[2, 4], [], [2, 4]]],
    ["a number for one line", 3, [true], [[3]]],
    ["one list for the only new line", [[2]], [false, true], [[], [2]]],
    ["one list for a text whose lines all stay: it says them again", [[2]], [false, false], [[2], [2]]],
    ["as many lists as there are new lines", [[1], [2]], [true, false, true], [[1], [], [2]]],
    ["numbers among lists", [1, [2, 3]], [true, true], [[1], [2, 3]]],
    ["numbers written as text", [["1"], "2"], [true, true], [[1], [2]]],
    ["lists for a text that is cleared", [[3]], [], []],
  ])("takes %s", (_name, given, areNew, expected) => expect(read(given, areNew)).toEqual(expected));

  test.each<[string, unknown, boolean[], RegExp]>([
    ["a turn that was not read", [[6]], [true], /no turn 6. They are numbered 1 to 5/],
    ["turn 0", [[0]], [true], /no turn 0/],
    ["what is no number", [["first"]], [true], /no number of a turn/],
    ["an object", { 1: [1] }, [true], /no number of a turn/],
    ["half a turn", [[1.5]], [true], /no number of a turn/],
    ["more lists than lines", [[1], [2], [3]], [true, true], /has 3 lists, and the content 2 lines. Give one list/],
  ])("refuses %s, and says what to do", (_name, given, areNew, expected) => expect(read(given, areNew)).toMatch(expected));

  test("tells all that are named, also for a text that has no line", () => {
    expect(parseTurnNumbers([[3], [1, 3]], { lines: [], count: 5 })).toEqual({ turns: [], named: [3, 1] });
  });
});
