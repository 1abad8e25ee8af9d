import { describe, expect, test } from "@jest/globals";
import { fillRoom, type Room, withoutUnlikely } from "../../../memory/recall/fill-room.ts";
import type { EpisodeText, StoredNeighbour } from "../../../stores/postgres/memory/episode-texts.ts";

const createdAt = new Date("2024-03-05T12:00:00Z");
const said = (id: string, role: StoredNeighbour["role"] = "user", content = id): StoredNeighbour => {
  return { id, role, content, createdAt, externalId: `external ${id}`, isLive: false };
};
function episode(id: string, beside: Partial<Pick<EpisodeText, "before" | "after" | "userMessage">> = {}): EpisodeText {
  const own = { id, conversationId: "talk", userMessage: id, assistantMessage: "", messageIds: [id], externalIds: [], createdAt };
  return { ...own, before: [], after: [], ...beside };
}
const words = (count: number): string => "word ".repeat(count);
const fill = (episodes: EpisodeText[], room: Room) =>
  fillRoom(
    episodes.map((text) => ({ text })),
    room,
  );
/** The neighbours of each hit, all of which come. */
const besides = (episodes: EpisodeText[], except?: ReadonlySet<string>): string[][] =>
  fill(episodes, { least: episodes.length, except }).hits.map(({ neighbours }) => neighbours.map(({ id }) => id));

describe("the room of recalled exchanges is filled", () => {
  const talk = (id: string): EpisodeText => episode(id, { before: [said(`before ${id}`)], after: [said(`after ${id}`)] });

  test("by worth: the least hits, what stands beside the best, two hits, what stands beside the next two, further hits", () => {
    const { order, hits } = fill([..."abcdefg"].map(talk), { least: 3, tokens: 1_000 });
    expect(order.slice(0, 13)).toEqual([
      ...["a", "b", "c", "after a", "before a", "d", "e"],
      ...["after b", "before b", "after c", "before c", "f", "g"],
    ]);
    expect(hits.map(({ hit }) => hit.text.id)).toEqual([..."abcdefg"]);
    expect(hits[0]?.neighbours.map(({ id }) => id)).toEqual(["before a", "after a"]);
  });

  test("with what is short where something longer does not fit, and with the least hits however long they are", () => {
    const long = episode("long", { userMessage: words(150) });
    expect(fill([episode("a"), long, episode("b")], { least: 1, tokens: 100 }).order).toEqual(["a", "b"]);
    expect(fill([long, episode("b"), episode("c")], { least: 2, tokens: 100 }).order).toEqual(["long", "b"]);
    expect(fill([episode("a"), episode("b")], { least: 1, tokens: 0 }).order).toEqual(["a"]);
  });

  test("by what a prompt shows of a long exchange", () => {
    const endless = episode("endless", { userMessage: words(5_000) });
    expect(fill([endless, episode("b"), episode("c")], { least: 1, tokens: 500 }).order).toEqual(["endless", "b", "c"]);
  });

  test("with an exchange once, as a hit or beside one", () => {
    const beside = [episode("a", { after: [said("d")] }), episode("b"), episode("c"), episode("d")];
    expect(fill(beside, { least: 3, tokens: 1_000 }).order).toEqual(["a", "b", "c", "d"]);
    expect(fill(beside, { least: 4, tokens: 1_000 }).order).toEqual(["a", "b", "c", "d"]);
  });
});

test("weak hits come only among the least, and so do all when the best one is weak for its embedder, unless few were found", () => {
  const scored = (...scores: number[]) => scores.map((score) => ({ score }));
  const left = (scores: number[], found: number, vectorWeight = 0.6): number[] =>
    withoutUnlikely(scored(...scores), { least: 2, found, vectorWeight }).map(({ score }) => score);
  expect(left([5, 3, 1, -0.4, -0.6], 100)).toEqual([5, 3, 1, -0.4]);
  expect(left([2, 1, 0.5], 100)).toEqual([2, 1]);
  expect(left([2, 1, 0.5], 100, 0.2)).toEqual([2, 1, 0.5]);
  expect(left([2, -1, -2], 10)).toEqual([2, -1, -2]);
  expect(left([], 100)).toEqual([]);
});

describe("beside a hit stand", () => {
  test("the exchange before and the one after, whole", () => {
    const { hits } = fill([episode("hit", { before: [said("a"), said("b", "assistant")], after: [said("c"), said("d", "assistant")] })], {
      least: 1,
    });
    const externalIds = ["external a", "external b"];
    const [before, after] = hits[0]?.neighbours ?? [];
    expect(before).toEqual({ id: "a", userMessage: "a", assistantMessage: "b", messageIds: ["a", "b"], externalIds, createdAt });
    expect(after?.id).toBe("c");
  });

  test("the nearest of two messages that are no exchange", () => {
    expect(besides([episode("hit", { before: [said("a"), said("b")], after: [said("c"), said("d")] })])).toEqual([["b", "c"]]);
    expect(besides([episode("hit", { before: [said("a", "assistant"), said("b")], after: [said("c", "assistant")] })])).toEqual([
      ["b", "c"],
    ]);
  });

  test("no answer alone that says nothing, but a question with such an answer", () => {
    expect(besides([episode("hit", { before: [said("a", "assistant", "")] })])).toEqual([[]]);
    expect(besides([episode("hit", { before: [said("a"), said("b", "assistant", "")] })])).toEqual([["a"]]);
  });

  test("no question of a turn that failed or was cancelled", () => {
    const live = (id: string, role: StoredNeighbour["role"] = "user") => ({ ...said(id, role), isLive: true });
    const whole = [live("c"), live("d", "assistant")];
    expect(besides([episode("hit", { before: [live("a"), live("b")], after: whole })])).toEqual([["c"]]);
    expect(besides([episode("hit", { before: whole, after: [live("e"), live("f")] })])).toEqual([["c"]]);
  });

  test("nothing twice, nothing that is recalled itself, and nothing of the window", () => {
    const episodes = [episode("one", { after: [said("two")] }), episode("two", { before: [said("one")], after: [said("x")] })];
    expect(besides([...episodes, episode("three", { before: [said("x")], after: [said("seen")] })], new Set(["seen"]))).toEqual([
      [],
      ["x"],
      [],
    ]);
  });

  test("nothing longer than the room that the hits leave: 200 tokens for each", () => {
    const long = said("long", "user", words(200));
    expect(besides([episode("hit", { before: [long], after: [said("short")] })])).toEqual([["short"]]);
    expect(besides([episode("hit", { userMessage: words(200), after: [said("short")] })])).toEqual([[]]);
    expect(besides([episode("hit", { before: [long] }), episode("other")])).toEqual([["long"], []]);
  });
});
