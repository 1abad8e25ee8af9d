import { describe, expect, test } from "@jest/globals";
import type { ToolCall } from "../../../memory/core/tool-schemas.ts";
import type { RecalledEpisode } from "../../../memory/recall/recall-episodes.ts";
import { RECALLED, TRIGGER, workingMemory } from "../../support/samples/sample-agent.ts";

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

  test("gives numbers to archived memories, and none to exchanges", async () => {
    expect((await searched()).said.match(/memory \d/g)).toEqual(["memory 1", "memory 2"]);
  });

  test("shows a change to later calls and searches, and makes one correction of several", async () => {
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

  test("names the turns that a change rests on as the model does, else all that it was shown", async () => {
    const { memory } = await searched();
    await memory.do(correct({ memory: 1, content: "Likes coffee.", turns: [1] }));
    expect(memory.result().corrected[0]?.triggerMessageIds).toEqual([TRIGGER.messageId]);
  });

  test("finds a deleted memory no more", async () => {
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

  test("counts a correction that changes nothing as no change", async () => {
    const { memory } = await searched();
    expect(await memory.do(correct({ memory: 1, content: "Likes tea." }))).toMatch(/Nothing changed/);
    expect(memory.result().operations.map(({ operation }) => operation)).toEqual(["archival_search"]);
  });
});
