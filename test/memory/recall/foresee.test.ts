import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeRecall, type Recall } from "../../../memory/recall/recall-episodes.ts";
import { cacheQuestionVectors } from "../../../models/embedder.ts";
import { exchanges, openTestEpisodicMemory, type TestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const QUESTION = "Which director did I mention?";
const SAID = exchanges(
  ["My favourite director is Agnès Varda.", "A wonderful choice."],
  ["I am allergic to peanuts.", "I will remember that."],
);

describe("a question that recall is told of before it is asked", () => {
  let memory: TestEpisodicMemory;
  let recall: Recall;
  beforeAll(async () => {
    memory = await openTestEpisodicMemory();
    await memory.remember(SAID, { userId: "ada" });
  });
  afterAll(() => memory.close());
  beforeEach(() => {
    memory.embedder.questions.splice(0);
    const embedder = cacheQuestionVectors(memory.embedder);
    recall = makeRecall({ index: memory.index, episodes: memory.episodes, embedder, timeZone: "UTC", minSimilarity: 0.5 });
  });
  const ask = () => recall({ tenantId: "tenant", userId: "ada", question: QUESTION, limit: 3 });

  test("is embedded at once and once; one that points back is not, before it is known at what", async () => {
    recall.foresee?.(QUESTION);
    recall.foresee?.("And that director you mentioned?");
    expect(memory.embedder.questions).toEqual([QUESTION]);
    const { episodes } = await ask();
    expect(episodes[0]?.userMessage).toContain("Agnès Varda");
    expect(memory.embedder.questions).toEqual([QUESTION]);
  });

  test("is embedded again when that failed", async () => {
    memory.embedder.fail(new Error("away"));
    recall.foresee?.(QUESTION);
    await new Promise(setImmediate);
    memory.embedder.fail(null);
    expect(await ask()).toMatchObject({ degraded: false });
    expect(memory.embedder.questions).toEqual([QUESTION, QUESTION]);
  });
});
