import { describe, expect, test } from "@jest/globals";
import { isToolName, parseTurnNumbers, TOOL_ARGUMENTS, toolDefinitions, type ToolCall } from "../../../memory/core/tool-schemas.ts";
import { diffLines, type DraftLine, makePassOnSources, toDraftLine } from "../../../memory/core/line-sources.ts";
import type { RecalledEpisode } from "../../../memory/recall/recall-episodes.ts";
import { RECALLED, TRIGGER, workingMemory } from "../../support/samples/sample-agent.ts";

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

  test("take the ends of every range, and a search without a limit as one for five", () => {
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

  test("are all told, also for a text that has no line", () => {
    expect(parseTurnNumbers([[3], [1, 3]], { lines: [], count: 5 })).toEqual({ turns: [], named: [3, 1] });
  });
});

const draft = (content: string, ...triggerMessageIds: string[]): DraftLine => toDraftLine({ content, triggerMessageIds, repeatedIn: [] });
/** What the lines of the new content rest on beyond their own turns. */
function follow(before: DraftLine[], content: string[], elsewhere: DraftLine[] = []): Record<string, string[]> {
  const diff = diffLines(before, content.join("\n"));
  makePassOnSources([...before, ...elsewhere])(diff);
  return Object.fromEntries(diff.after.map((line) => [line.content, [...line.sources].sort()]));
}
describe("the sources of lines that are rewritten", () => {
  const porto = () => draft("Lives in Porto.", "porto");
  const rex = () => draft("Has a dog called Rex.", "rex");
  const tea = () => draft("Likes tea.", "tea");

  test("a line that says most of what a removed line said rests on what that rested on; a line beside it does not", () => {
    expect(follow([porto(), tea()], ["Lives in Porto, Portugal.", "Likes tea.", "Has a dog called Rex."])).toEqual({
      "Lives in Porto, Portugal.": ["porto"],
      "Likes tea.": ["tea"],
      "Has a dog called Rex.": [],
    });
  });

  test("a line in the place of a removed line rests on what that rested on, in whatever words and language", () => {
    expect(follow([tea(), porto(), rex()], ["Likes tea.", "住在波尔图", "Has a dog called Rex.", "Sails."])).toEqual({
      "Likes tea.": ["tea"],
      住在波尔图: ["porto"],
      "Has a dog called Rex.": ["rex"],
      "Sails.": [],
    });
  });

  test("a line that two were merged into rests on what both rested on", () => {
    expect(follow([porto(), rex()], ["住在波尔图，有一只狗"])).toEqual({ "住在波尔图，有一只狗": ["porto", "rex"] });
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Lives in Porto with a dog called Rex."])).toEqual({
      "Likes tea.": ["tea"],
      "Lives in Porto with a dog called Rex.": ["porto", "rex"],
    });
  });

  test("each half of a line that was split rests on what it rested on", () => {
    expect(follow([draft("Lives in Porto and hates dill.", "both")], ["Lives in Porto.", "Hates dill."])).toEqual({
      "Lives in Porto.": ["both"],
      "Hates dill.": ["both"],
    });
  });

  test("a line of another section that is written here too rests here on the same", () => {
    expect(follow([], ["Lives in Porto."], [porto()])).toEqual({ "Lives in Porto.": ["porto"] });
  });

  test("what was left out and cannot be found again may be in any line that is new", () => {
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Has a dog called Rex.", "波尔图"])).toMatchObject({ 波尔图: ["porto"] });
  });

  test("a line left out by one call is followed into the line that a later call adds to another section", () => {
    const before = [porto()];
    const passOnSources = makePassOnSources(before);
    passOnSources(diffLines(before, ""));
    const later = diffLines([], "住在波尔图");
    passOnSources(later);
    expect([...(later.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });

  test("a line that is left out is followed into the line that an earlier call added to another section", () => {
    const [before, earlier] = [[porto()], diffLines([], "住在波尔图")];
    const passOnSources = makePassOnSources(before);
    passOnSources(earlier);
    passOnSources(diffLines(before, ""));
    expect([...(earlier.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });
});

const search = (given: object): ToolCall => ({ name: "archival_search", arguments: given });
describe("the memory agent corrects and deletes what a search has found", () => {
  const kept = (id: string, userMessage: string): RecalledEpisode => ({
    ...RECALLED,
    id,
    userMessage,
    assistantMessage: "",
    messageIds: ["source"],
  });
  const correct = (given: object): ToolCall => ({ name: "archival_update", arguments: given });
  const remove = (given: object): ToolCall => ({ name: "archival_delete", arguments: given });
  const found = [kept("one", "Likes tea."), RECALLED, kept("two", "Likes rum.")];
  async function searched() {
    const memory = workingMemory({ search: async () => found });
    return { memory, said: await memory.do(search({ query: "drinks" })) };
  }
  const NOW = {
    id: "one",
    before: "Likes tea.",
    episodeType: "preference",
    importance: 0.8,
    triggerMessageIds: ["source", "asked", "answered", TRIGGER.messageId],
  };

  test("numbers the archived memories, and no exchange", async () => {
    expect((await searched()).said.match(/memory \d/g)).toEqual(["memory 1", "memory 2"]);
  });

  test("a later call and a later search see the change, and one correction comes of several", async () => {
    const { memory } = await searched();
    await memory.do(correct({ memory: 1, content: "Likes coffee." }));
    expect(await memory.do(correct({ memory: 1, content: "Likes cocoa.", importance: 1 }))).toBe("Memory 1 now has this content.");
    expect(await memory.do(search({ query: "drinks" }))).toMatch(/importance 1, memory 1\]\n> Likes cocoa\./);
    const { corrected, operations } = memory.result();
    expect(corrected).toEqual([{ ...NOW, content: "Likes cocoa.", importance: 1 }]);
    expect(operations.filter(({ operation }) => operation === "archival_update")).toMatchObject([
      { oldValue: "Likes tea.", newValue: "Likes coffee.", memoryId: "one", restsOn: ["source"], importance: 0.8 },
      { oldValue: "Likes coffee.", newValue: "Likes cocoa.", importance: 1 },
    ]);
  });

  test("rests on the turns that the model names, else on all that it was shown", async () => {
    const { memory } = await searched();
    await memory.do(correct({ memory: 1, content: "Likes coffee.", turns: [1] }));
    expect(memory.result().corrected[0]?.triggerMessageIds).toEqual([TRIGGER.messageId]);
  });

  test("what is deleted is found no more", async () => {
    const { memory } = await searched();
    await memory.do(remove({ memory: 2, reason: "No rum." }));
    expect(await memory.do(search({ query: "drinks" }))).not.toMatch(/rum|memory 2/);
    expect(memory.result().corrected).toMatchObject([{ id: "two", before: "Likes rum.", content: null }]);
    expect(await memory.do(remove({ memory: 2 }))).toMatch(/^Refused: .*memory 2 is deleted already/);
  });

  test.each<[string, ToolCall, RegExp]>([
    ["a memory that was not shown", remove({ memory: 3 }), /no memory 3/],
    ["no number", correct({ content: "x" }), /memory/],
    ["a blank content", correct({ memory: 1, content: " " }), /content/],
    ["a content that another memory has", correct({ memory: 1, content: "Likes rum." }), /memory 2 says that already/],
    ["a turn that there is not", remove({ memory: 1, turns: [2] }), /no turn 2/],
  ])("refuses %s", async (_name, call, says) => {
    const { memory } = await searched();
    const said = await memory.do(call);
    expect(said).toMatch(/^Refused: /);
    expect(said).toMatch(says);
    expect(memory.result().corrected).toEqual([]);
  });

  test("takes a correction that changes nothing as no change", async () => {
    const { memory } = await searched();
    expect(await memory.do(correct({ memory: 1, content: "Likes tea." }))).toMatch(/Nothing changed/);
    expect(memory.result().operations.map(({ operation }) => operation)).toEqual(["archival_search"]);
  });
});
