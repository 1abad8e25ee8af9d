import { expect, test } from "@jest/globals";
import { makeRecall } from "../../../memory/recall/recall-episodes.ts";
import { archiveMemories } from "../../../stores/postgres/memory/archive-store.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const memory = useTestEpisodicMemory();

test("a question for several things gets what the memory agent has archived, beside exchanges", async () => {
  const dishes = exchanges(["We had the fish soup at Ramiro, and it was a good dish.", "Lovely."], ["Is the oven broken?", "No."]);
  const eater = await memory.store(dishes, { userId: "eater" });
  const [asked] = await memory.messages(eater);
  const content = "Dishes liked so far: ramen, feijoada.";
  const fact = { id: crypto.randomUUID(), triggerMessageIds: [asked?.id ?? ""], content, episodeType: "preference", importance: 0.8 };
  await memory.database.transaction((transaction) => archiveMemories(transaction, eater, [fact]));
  await memory.indexAll(eater);
  const { index, episodes, embedder } = memory;
  const recall = makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5 });
  const found = await recall({ ...eater, conversationId: undefined, question: "Which dishes did I like?", limit: 1, mayExceedLimit: true });
  expect(found.episodes.map(({ userMessage }) => userMessage).toSorted()).toEqual([content, dishes[0]?.[1]]);
});
