import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeIndexEpisodes } from "../../../memory/episodes/index-episodes.ts";
import { makeRecall, type Recall, type RecallParts } from "../../../memory/recall/recall-episodes.ts";
import { makeArchiveStore } from "../../../stores/postgres/memory/archive-store.ts";
import type { SearchFilter, SearchIndex } from "../../../stores/search/search-index.ts";
import { exchanges, openTestEpisodicMemory, type TestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const NOW = new Date("2024-06-12T12:00:00Z"); // a Wednesday

describe("recall of a day that the question names", () => {
  let memory: TestEpisodicMemory;
  beforeAll(async () => {
    memory = await openTestEpisodicMemory();
  });
  afterAll(() => memory.close());

  const makeOne = (parts: Partial<RecallParts> = {}): Recall => {
    const { index, episodes, embedder } = memory;
    return makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5, now: () => NOW, ...parts });
  };
  const request = (question: string) => ({ tenantId: "tenant", question, limit: 3 });

  test.each([
    ["What did I eat on June 4?", "UTC", "soup"],
    ["6月4日我吃了什么？", "UTC", "soup"],
    ["What did I eat last Tuesday?", "UTC", "soup"],
    ["What did I eat last Wednesday?", "Asia/Shanghai", "soup"],
  ])("answers %j in %s from that day", async (question, timeZone, said) => {
    const userId = `days ${question}`;
    const eaten = ["rice", "pizza", "soup", "salad", "curry"];
    const { episodes: store, index, embedder } = memory;
    const handler = makeIndexEpisodes({ episodes: store, archive: makeArchiveStore(memory.database), index, embedder, timeZone });
    for (const [number, dish] of eaten.entries()) {
      const said = exchanges([`I did eat ${dish} and I did like it, I did.`, "Good."]);
      const conversation = await memory.store(said, { userId, sessionId: dish, at: `2024-06-0${number + 2}T18:00:00Z` });
      await memory.step(conversation, handler);
    }
    const { episodes } = await makeOne({ timeZone })({ ...request(question), userId, limit: 5 });
    expect(episodes[0]?.userMessage).toContain(said);
    expect(episodes.length).toBeGreaterThan(1);
  });

  test("searches the day that a question names by itself when there is more than one search gives, and only then", async () => {
    await memory.remember(exchanges(["I did eat soup.", "Good."]), { userId: "gourmet", at: "2024-06-04T18:00:00Z" });
    const open = await memory.index.open(await memory.index.name());
    const filters: SearchFilter[] = [];
    const ask = async (isFull: boolean): Promise<string[]> => {
      filters.splice(0);
      const searchVectors: SearchIndex["searchVectors"] = async (filter, embedding, limit) => {
        filters.push(filter);
        const hits = await open.searchVectors(filter, embedding, limit);
        if (!isFull || filter.until) return hits;
        return Array.from({ length: limit }, () => ({ ...hits[0]!, id: crypto.randomUUID(), score: -1 }));
      };
      const index = { ...memory.index, open: async () => ({ ...open, searchVectors, searchWords: async () => [] }) };
      const { episodes } = await makeOne({ index })({ ...request("What was on the table on June 4?"), userId: "gourmet" });
      return episodes.map(({ userMessage }) => userMessage);
    };
    expect(await ask(false)).toEqual(["I did eat soup."]);
    expect(filters).toHaveLength(1);
    expect(await ask(true)).toEqual(["I did eat soup."]);
    expect(filters).toEqual([
      { ownerKey: expect.any(String) },
      { ownerKey: expect.any(String), from: new Date("2024-06-04T00:00:00Z"), until: new Date("2024-06-05T00:00:00Z") },
    ]);
  });

  test("goes on with what the whole search found when that of the day fails, and says that it is not all", async () => {
    await memory.remember(exchanges(["I did eat bread.", "Good."]), { userId: "baker", at: "2024-06-04T18:00:00Z" });
    const open = await memory.index.open(await memory.index.name());
    const gone = new AppError("index_unavailable", "The index cannot be reached.");
    const searchVectors: SearchIndex["searchVectors"] = async (filter, embedding, limit) => {
      if (filter.until) throw gone;
      const hits = await open.searchVectors(filter, embedding, limit);
      return [...hits, ...Array.from({ length: limit - 1 }, () => ({ ...hits[0]!, id: crypto.randomUUID(), score: -1 }))];
    };
    const heard: unknown[] = [];
    const index = { ...memory.index, open: async () => ({ ...open, searchVectors }) };
    const recall = makeOne({ index, onError: (error) => void heard.push(error) });
    const { episodes, degraded } = await recall({ ...request("Did I eat bread on June 4?"), userId: "baker" });
    expect(episodes.map(({ userMessage }) => userMessage)).toEqual(["I did eat bread."]);
    expect({ degraded, heard }).toEqual({ degraded: true, heard: [gone] });
  });
});
