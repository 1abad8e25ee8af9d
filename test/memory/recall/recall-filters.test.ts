import { beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeRecall, type Recall, type RecallParts, type RecallRequest } from "../../../memory/recall/recall-episodes.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const NOW = new Date("2024-06-12T12:00:00Z"); // a Wednesday
const SAID = exchanges(
  ["My favourite director is Agnès Varda, I saw Cléo in spring.", "A wonderful film."],
  ["I am allergic to peanuts.", "I will remember that."],
  ["我女儿的钢琴老师叫林晓梅。", "林老师听起来很好。"],
  ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
);
const AWAY = new AppError("index_unavailable", "It cannot be reached.");

describe("recall of some types or times", () => {
  const memory = useTestEpisodicMemory();
  let ada: OwnedConversation;
  beforeAll(async () => {
    ada = await memory.remember(SAID, { userId: "ada", at: "2024-03-05T12:00:00Z" });
  });

  function makeOne(parts: Partial<RecallParts> = {}): Recall {
    const { index, episodes, embedder } = memory;
    return makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5, now: () => NOW, ...parts });
  }
  const request = (question: string) => ({ tenantId: "tenant", userId: "ada", question, limit: 3 });
  /** What the user said in the exchanges that are recalled. */
  async function recalled(question: string, changed: Partial<RecallRequest> = {}, recall = makeOne()): Promise<string[]> {
    return (await recall({ ...request(question), ...changed })).episodes.map(({ userMessage }) => userMessage);
  }

  test("finds what is of some types, those of the setting or others that are asked for, and tells how near it is", async () => {
    const question = "director Varda peanuts flat 林晓梅";
    const recall = makeOne({ minSimilarity: -1, episodeTypes: ["context"] });
    const found = async (changed: Partial<RecallRequest>, by = recall) => (await by({ ...request(question), ...changed })).episodes;
    const all = await found({ limit: 10 }, makeOne({ minSimilarity: -1 }));
    const typesOf = (episodes: typeof all) => [...new Set(episodes.map(({ episodeType }) => episodeType))].toSorted();
    expect(typesOf(all)).toEqual(["context", "preference"]);
    expect(typesOf(await found({ limit: 10 }))).toEqual(["context"]);
    const preferences = await found({ episodeTypes: ["preference"], limit: 1 });
    expect(preferences.map(({ id }) => id)).toEqual([all.find(({ episodeType }) => episodeType === "preference")?.id]);
    for (const { similarity } of all) expect(Math.abs(similarity ?? 0)).toBeLessThanOrEqual(1.000_001);
    memory.embedder.fail(AWAY);
    expect((await found({ limit: 10 })).map(({ similarity }) => similarity)).toEqual([null, null]);
  });

  test("finds what was said in a span of time, also when the question names a day", async () => {
    const messages = await memory.messages(ada);
    const at = messages.filter(({ role }) => role === "user").map(({ created_at }) => created_at);
    const [, second, third] = at;
    const span = { from: second, until: third };
    expect(await recalled("director Varda peanuts flat", span, makeOne({ minSimilarity: -1 }))).toEqual(["I am allergic to peanuts."]);
    expect(await recalled("What was on March 5?", span)).toEqual(["I am allergic to peanuts."]);
    expect(await recalled("What was on March 5?", { until: at[0] })).toEqual([]);
  });
});
