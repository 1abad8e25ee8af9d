import { expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeRecall, type RecallParts } from "../../../memory/recall/recall-episodes.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const SAID = exchanges(
  ["My favourite director is Agnès Varda.", "A wonderful choice."],
  ["I am allergic to peanuts.", "I will remember that."],
  ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
);
const NOW = new Date("2024-06-12T12:00:00Z");
const memory = useTestEpisodicMemory();

test("a reranker's order of the best is taken, and recall's own is kept when the reranker fails", async () => {
  await memory.remember(SAID, { userId: "ada", at: "2024-03-05T12:00:00Z" });
  const heard: unknown[] = [];
  const { index, episodes, embedder } = memory;
  const parts: RecallParts = {
    index,
    episodes,
    embedder,
    timeZone: "UTC",
    minSimilarity: -1,
    now: () => NOW,
    onError: (error) => void heard.push(error),
  };
  const recallWith = (rerank?: RecallParts["rerank"]) => makeRecall({ ...parts, rerank });
  const asked = { tenantId: "tenant", userId: "ada", question: "director Varda peanuts flat", limit: 2 };
  const own = (await recallWith()({ ...asked, limit: 3 })).episodes;
  expect(own).toHaveLength(3);

  const seen: string[] = [];
  const turned = await recallWith(async (question, texts) => {
    seen.push(question, ...texts);
    return texts.map((_, place) => place);
  })(asked);
  expect(turned.episodes.map(({ id }) => id)).toEqual([own[2]?.id, own[1]?.id]);
  expect(turned.episodes.map(({ score }) => score)).toEqual([own[0]?.score, own[1]?.score]);
  expect(seen).toEqual([asked.question, ...own.map(({ userMessage, assistantMessage }) => `${userMessage}\n${assistantMessage}`)]);

  const away = new AppError("embedder_unavailable", "It cannot be reached.");
  const kept = await recallWith(() => Promise.reject(away))(asked);
  expect([kept.episodes.map(({ id }) => id), kept.degraded]).toEqual([[own[0]?.id, own[1]?.id], false]);
  expect(heard).toEqual([away]);
});
