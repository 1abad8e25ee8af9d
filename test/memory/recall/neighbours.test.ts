import { describe, expect, test } from "@jest/globals";
import { chooseNeighbours, fillRoom } from "../../../memory/recall/neighbours.ts";
import type { EpisodeText, StoredNeighbour } from "../../../stores/postgres/memory/episode-texts.ts";

const createdAt = new Date("2024-03-05T12:00:00Z");
const said = (id: string, role: StoredNeighbour["role"] = "user", content = id): StoredNeighbour => {
  return { id, role, content, createdAt, externalId: `external ${id}`, isLive: false };
};
function episode(id: string, beside: Partial<Pick<EpisodeText, "before" | "after" | "userMessage">> = {}): EpisodeText {
  const own = { id, conversationId: "talk", userMessage: id, assistantMessage: "", messageIds: [id], externalIds: [], createdAt };
  return { ...own, before: [], after: [], ...beside };
}
const idsOf = (episodes: EpisodeText[], except?: ReadonlySet<string>): string[][] =>
  chooseNeighbours(episodes, except).map((beside) => beside.map(({ id }) => id));

test("short hits leave room for more than the limit, long ones do not", () => {
  const hit = (id: string, words = 1) => ({ text: episode(id, { userMessage: "word ".repeat(words) }) });
  const filled = (hits: ReturnType<typeof hit>[], limit: number): string[] => fillRoom(hits, limit).map(({ text }) => text.id);
  expect(filled([hit("a"), hit("b"), hit("c"), hit("d")], 2)).toEqual(["a", "b", "c", "d"]);
  expect(filled([hit("a"), hit("b"), hit("long", 400), hit("d")], 2)).toEqual(["a", "b", "d"]);
  expect(filled([hit("a", 300), hit("b", 300), hit("c")], 2)).toEqual(["a", "b"]);
  expect(filled([hit("a")], 2)).toEqual(["a"]);
});

describe("chooseNeighbours", () => {
  test("gives the exchange before and the one after, whole, in their order", () => {
    const [beside] = chooseNeighbours([
      episode("hit", { before: [said("a"), said("b", "assistant")], after: [said("c"), said("d", "assistant")] }),
    ]);
    const externalIds = ["external a", "external b"];
    expect(beside?.[0]).toEqual({ id: "a", userMessage: "a", assistantMessage: "b", messageIds: ["a", "b"], externalIds, createdAt });
    expect(beside?.map(({ id }) => id)).toEqual(["a", "c"]);
  });

  test("takes the nearest of two messages that are no exchange", () => {
    expect(idsOf([episode("hit", { before: [said("a"), said("b")], after: [said("c"), said("d")] })])).toEqual([["b", "c"]]);
    expect(idsOf([episode("hit", { before: [said("a", "assistant"), said("b")], after: [said("c", "assistant")] })])).toEqual([["b", "c"]]);
  });

  test("leaves out an answer alone that says nothing, and keeps a question with such an answer", () => {
    expect(idsOf([episode("hit", { before: [said("a", "assistant", "")] })])).toEqual([[]]);
    expect(idsOf([episode("hit", { before: [said("a"), said("b", "assistant", "")] })])).toEqual([["a"]]);
  });

  test("leaves out the question of a turn that failed or was cancelled", () => {
    const live = (id: string, role: StoredNeighbour["role"] = "user") => ({ ...said(id, role), isLive: true });
    const whole = [live("c"), live("d", "assistant")];
    expect(idsOf([episode("hit", { before: [live("a"), live("b")], after: whole })])).toEqual([["c"]]);
    expect(idsOf([episode("hit", { before: whole, after: [live("e"), live("f")] })])).toEqual([["c"]]);
  });

  test("gives nothing twice, nothing that is recalled itself, and nothing of the window", () => {
    const episodes = [episode("one", { after: [said("two")] }), episode("two", { before: [said("one")], after: [said("x")] })];
    expect(idsOf([...episodes, episode("three", { before: [said("x")], after: [said("seen")] })], new Set(["seen"]))).toEqual([
      [],
      ["x"],
      [],
    ]);
  });

  test("leaves out what is longer than the room that the recalled ones leave", () => {
    const long = said("long", "user", "word ".repeat(200));
    expect(idsOf([episode("hit", { before: [long], after: [said("short")] })])).toEqual([["short"]]);
    expect(idsOf([episode("hit", { userMessage: "word ".repeat(200), after: [said("short")] })])).toEqual([[]]);
    expect(idsOf([episode("hit", { before: [long] }), episode("other")])).toEqual([["long"], []]);
  });
});
