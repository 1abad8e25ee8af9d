import { describe, expect, test } from "@jest/globals";
import { makeRecall, type RecalledEpisode } from "../../../memory/recall/recall-episodes.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

describe("recall of a talk with a model that babbles", () => {
  const memory = useTestEpisodicMemory();

  async function recall(userId: string, question: string, limit = 3): Promise<RecalledEpisode[]> {
    const search = makeRecall({ ...memory, timeZone: "UTC", minSimilarity: 0.5 });
    return (await search({ tenantId: "tenant", userId, question, limit })).episodes;
  }

  test("gives a short question that was asked again once, so that what was told has a place", async () => {
    const asked = Array.from({ length: 12 }, (_, time): [string, string] => [
      time % 2 ? "Where do I live?" : "where do I live",
      `Answer ${time}.`,
    ]);
    await memory.remember(exchanges(["I live in Lisbon near the river.", "Nice."], ...asked), { userId: "again" });
    const found = (await recall("again", "Where do I live?")).map(({ userMessage }) => userMessage);
    expect(found).toContain("I live in Lisbon near the river.");
    expect(found.filter((message) => /where/i.test(message))).toHaveLength(1);
  });

  test("gives what the user said without an answer that was given to everything", async () => {
    const rex = "The capital of Lisbon is Rex.";
    const told = ["I live in Lisbon.", "My dog is called Rex.", "Where do I live?", "What is my dog called?"];
    await memory.remember(exchanges(...told.map((message): [string, string] => [message, rex])), { userId: "rex" });
    const episodes = await recall("rex", "Where do I live with my dog?", 4);
    expect(episodes.map(({ userMessage }) => userMessage)).toEqual(expect.arrayContaining(["I live in Lisbon.", "My dog is called Rex."]));
    const shown = episodes.flatMap((episode) => [episode, ...episode.neighbours]);
    expect(new Set(shown.map(({ assistantMessage }) => assistantMessage))).toEqual(new Set([""]));
    expect(shown.every(({ messageIds }) => messageIds.length === 2)).toBe(true);
  });
});
