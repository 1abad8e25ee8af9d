import { describe, expect, test } from "@jest/globals";
import { isToolName, parseTurnNumbers, TOOL_ARGUMENTS, toolDefinitions } from "../../../memory/core/tool-schemas.ts";

describe("the memory agent's tools", () => {
  test("are described in OpenAI's form with the fields that are checked, and the sections that may be written", () => {
    const optional = { turns: { type: "array", description: expect.stringMatching(/numbers of the turns/) } };
    expect(toolDefinitions(["profile", "hobbies"])).toMatchObject(
      [
        ["core_memory_update", ["section", "content"], { section: { type: "string", enum: ["profile", "hobbies"] }, ...optional }],
        ["archival_insert", ["content", "episode_type"], { importance: { type: "number", minimum: 0, maximum: 1 }, ...optional }],
        ["archival_update", ["memory", "content"], { memory: { type: "integer", minimum: 1 }, ...optional }],
        ["archival_delete", ["memory"], { memory: { type: "integer", minimum: 1 }, ...optional }],
        ["archival_search", ["query"], { episode_type: { enum: ["preference", "decision", "context", "outcome"] } }],
      ].map(([name, required, properties]) => {
        const parameters = { type: "object", properties, required, additionalProperties: false };
        return { type: "function", function: { name, description: expect.stringMatching(/\w+ \w+/), parameters } };
      }),
    );
  });

  test("are known by their names alone", () => {
    const names = ["core_memory_update", "archival_insert", "archival_update", "archival_delete", "archival_search"];
    const others = ["", "constructor", "__proto__", "toString", "CORE_MEMORY_UPDATE", "core_memory_update "];
    expect([...names, ...others].filter(isToolName)).toEqual(names);
  });

  test("take the ends of every range, and five results for a search without a limit", () => {
    const { core_memory_update, archival_insert, archival_search } = TOOL_ARGUMENTS;
    expect(core_memory_update.safeParse({ section: "profile", content: "😀".repeat(2_000) }).success).toBe(true);
    for (const importance of [0, 1])
      expect(archival_insert.safeParse({ content: "x", episode_type: "outcome", importance }).success).toBe(true);
    expect(archival_search.parse({ query: "x" })).toEqual({ query: "x", limit: 5 });
    const limits = [0, 1, 20, 21, 1.5, "5"];
    expect(limits.filter((limit) => archival_search.safeParse({ query: "x", limit }).success)).toEqual([1, 20]);
  });
});

describe("the turns that a model names for lines", () => {
  const read = (given: unknown, areNew: boolean[]): unknown => {
    const parsed = parseTurnNumbers(given, { lines: areNew.map((isNew) => ({ isNew })), count: 5 });
    return "refused" in parsed ? parsed.refused : parsed.turns;
  };

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
  ])("may be %s", (_name, given, areNew, expected) => expect(read(given, areNew)).toEqual(expected));

  test.each<[string, unknown, boolean[], RegExp]>([
    ["a turn that was not read", [[6]], [true], /no turn 6. They are numbered 1 to 5/],
    ["turn 0", [[0]], [true], /no turn 0/],
    ["what is no number", [["first"]], [true], /no number of a turn/],
    ["an object", { 1: [1] }, [true], /no number of a turn/],
    ["half a turn", [[1.5]], [true], /no number of a turn/],
    ["more lists than lines", [[1], [2], [3]], [true, true], /has 3 lists, and the content 2 lines. Give one list/],
  ])("may not be %s", (_name, given, areNew, expected) => expect(read(given, areNew)).toMatch(expected));

  test("are all named for a text without lines, too", () => {
    expect(parseTurnNumbers([[3], [1, 3]], { lines: [], count: 5 })).toEqual({ turns: [], named: [3, 1] });
  });
});
