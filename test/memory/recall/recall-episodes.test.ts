import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeRecall, type Recall, type RecallParts } from "../../../memory/recall/recall-episodes.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { exchanges, openTestEpisodicMemory, type TestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

const NOW = new Date("2024-06-12T12:00:00Z"); // a Wednesday
const DIRECTORS = exchanges(
  ["My favourite director is Agnès Varda, I saw Cléo in spring.", "A wonderful film."],
  ["I am allergic to peanuts.", "I will remember that."],
  ["我女儿的钢琴老师叫林晓梅。", "林老师听起来很好。"],
  ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
);

describe("recall", () => {
  let memory: TestEpisodicMemory;
  let ada: OwnedConversation;
  const heard: unknown[] = [];
  beforeAll(async () => {
    memory = await openTestEpisodicMemory();
    ada = await memory.remember(DIRECTORS, { userId: "ada", at: "2024-03-05T12:00:00Z" });
  });
  afterAll(() => memory.close());
  beforeEach(() => {
    memory.embedder.fail(null);
    memory.embedder.questions.splice(0);
    heard.splice(0);
  });

  const makeOne = (parts: Partial<RecallParts> = {}): Recall =>
    makeRecall({
      index: memory.index,
      episodes: memory.episodes,
      embedder: memory.embedder,
      timeZone: "UTC",
      minSimilarity: 0.5,
      now: () => NOW,
      onError: (error) => void heard.push(error),
      ...parts,
    });
  const request = (question: string) => ({ tenantId: "tenant", userId: "ada", question, limit: 3 });
  const unavailable = (): Promise<never> => Promise.reject(new AppError("index_unavailable", "The index cannot be reached."));

  test.each([
    ["Which director did I mention?", "Agnès Varda"],
    ["what am I allergic to", "peanuts"],
    ["钢琴老师叫什么名字？", "林晓梅"],
    ["谁教我女儿弹钢琴？", "林晓梅"],
    ["How much do I pay for the flat?", "900 euros"],
  ])("answers %j from what was said", async (question, said) => {
    const { episodes, degraded } = await makeOne()(request(question));
    expect(episodes[0]?.userMessage).toContain(said);
    expect(degraded).toBe(false);
  });

  test("gives both messages, their ids, time, kind, importance and conversation as they are stored", async () => {
    const messages = await memory.messages(ada);
    const [first] = (await makeOne()(request("director Varda"))).episodes;
    expect(first).toMatchObject({
      id: messages[0]?.id,
      messageIds: [messages[0]?.id, messages[1]?.id],
      userMessage: messages[0]?.content,
      assistantMessage: messages[1]?.content,
      conversationId: ada.conversationId,
      createdAt: messages[0]?.created_at,
      episodeType: "preference",
      importance: 0.8,
    });
  });

  test("finds nothing for a question with no word in common", async () => {
    expect(await makeOne()(request("zebra quantum"))).toEqual({ episodes: [], degraded: false });
    expect(await makeOne()(request("!?!"))).toEqual({ episodes: [], degraded: false });
  });

  test("finds nothing by a word that most exchanges have or by one character, unless that is the whole question", async () => {
    const said = ["the garden", "my novel", "a bridge", "the fence", "our taxes", "the roof", "a boat", "my thesis", "的桌子", "的画"];
    const work = exchanges(...said.map((thing): [string, string] => [`I work on ${thing} 今天天气冷`, "Good."]));
    await memory.remember(work, { userId: "worker" });
    const ask = async (question: string): Promise<string[]> => {
      const { episodes } = await makeOne()({ ...request(question), userId: "worker", limit: 20 });
      return episodes.map(({ userMessage }) => userMessage);
    };
    expect(await ask("Explain how a transistor works inside amplifiers.")).toEqual([]);
    expect(await ask("冰箱为何要除霜？天")).toEqual([]);
    expect((await ask("my work")).length).toBe(10);
    const [best, ...others] = await ask("How does the work on the bridge go?");
    expect(best).toContain("bridge");
    expect(others).toHaveLength(9); // what one convincing exchange brings with it
  });

  test("gives at most as many as asked for, without those that are not wanted, which others take the place of", async () => {
    const recall = makeOne({ minSimilarity: -1 });
    const all = (await recall({ ...request("director Varda peanuts flat"), limit: 10 })).episodes.map(({ id }) => id);
    expect(all).toHaveLength(4);
    const except = new Set(all.slice(0, 2));
    const rest = await recall({ ...request("director Varda peanuts flat"), limit: 2, except });
    expect(rest.episodes.map(({ id }) => id)).toEqual(all.slice(2));
    expect((await recall({ ...request("director"), limit: 1 })).episodes).toHaveLength(1);
  });

  test("searches all conversations of the user, or one when it is named", async () => {
    await memory.remember(exchanges(["The director of my school is Mr Gomes.", "I see."]), { userId: "ada", sessionId: "other" });
    const recall = makeOne();
    const conversations = new Set((await recall(request("director"))).episodes.map(({ conversationId }) => conversationId));
    expect(conversations.size).toBe(2);
    const scoped = await recall({ ...request("director"), conversationId: ada.conversationId });
    expect(scoped.episodes.map(({ userMessage }) => userMessage)).toEqual([expect.stringContaining("Varda")]);
    expect((await recall({ ...request("director"), conversationId: crypto.randomUUID() })).episodes).toEqual([]);
  });

  test("leaves out what is older than the age that is set", async () => {
    await memory.remember(exchanges(["I bought a red kayak.", "Enjoy!"]), { userId: "age", at: "2024-06-01T12:00:00Z" });
    await memory.remember(exchanges(["I bought a blue kayak.", "Enjoy!"]), { userId: "age", at: "2023-06-01T12:00:00Z" });
    const question = { ...request("kayak"), userId: "age" };
    expect((await makeOne()(question)).episodes).toHaveLength(2);
    const recent = (await makeOne({ maxAgeDays: 30 })(question)).episodes.map(({ userMessage }) => userMessage);
    expect(recent).toEqual(["I bought a red kayak."]);
    expect((await makeOne({ maxAgeDays: 5 })(question)).episodes).toEqual([]);
  });

  test.each(["%", "ad_", "ada' or '1'='1", 'ada"}', '["tenant","ada"]', "ada\n", "ADA", "阿达", "", "*"])(
    "gives user %j nothing of another's, also when both have said the same",
    async (userId) => {
      await memory.remember(exchanges(["My favourite director is Bergman.", "Good."]), { userId });
      const { episodes } = await makeOne({ minSimilarity: -1 })({ ...request("director"), userId, limit: 50 });
      expect(episodes.map(({ userMessage }) => userMessage)).toEqual(["My favourite director is Bergman."]);
      const own = (await makeOne({ minSimilarity: -1 })({ ...request("director"), limit: 50 })).episodes;
      expect(own.map(({ userMessage }) => userMessage)).not.toContain("My favourite director is Bergman.");
    },
  );

  test("gives the same user of another tenant nothing, nor one whose names run together with another's", async () => {
    const recall = makeOne({ minSimilarity: -1 });
    for (const other of [{ tenantId: "acme" }, { tenantId: "tenanta", userId: "da" }, { tenantId: "", userId: "tenantada" }]) {
      expect((await recall({ ...request("director"), ...other })).episodes).toEqual([]);
    }
    const scoped = await recall({ ...request("director"), tenantId: "acme", conversationId: ada.conversationId });
    expect(scoped.episodes).toEqual([]);
  });

  test("does not give what was deleted in Postgres though the index still has it", async () => {
    const erased = await memory.remember(exchanges(["My bank is the Blue Bank.", "Fine."]), { userId: "erased" });
    await makeEraseStore(memory.database).conversation(erased);
    expect(await memory.indexed(erased)).toHaveLength(1);
    expect(await makeOne()({ ...request("bank"), userId: "erased" })).toEqual({ episodes: [], degraded: false });
  });

  test("gives the next best in the place of what was deleted in Postgres", async () => {
    const best = await memory.remember(exchanges(["My bank is the Green Bank of Porto.", "Fine."]), { userId: "moved" });
    await memory.remember(exchanges(["The bank has a green door.", "Nice."]), { userId: "moved" });
    const ask = async () => (await makeOne()({ ...request("Green Bank of Porto"), userId: "moved", limit: 1 })).episodes;
    expect((await ask()).map(({ userMessage }) => userMessage)).toEqual(["My bank is the Green Bank of Porto."]);
    await makeEraseStore(memory.database).conversation(best);
    expect((await ask()).map(({ userMessage }) => userMessage)).toEqual(["The bank has a green door."]);
  });

  test("does not give what became incomplete in Postgres", async () => {
    const conversation = await memory.remember(exchanges(["My dentist is Dr Ferro.", "half an ans"]), { userId: "incomplete" });
    await memory.makeIncomplete(conversation, "half an ans");
    expect((await makeOne()({ ...request("dentist"), userId: "incomplete" })).episodes).toEqual([]);
  });

  test("with the embedder away is served by keywords alone, and says so", async () => {
    const away = new AppError("embedder_unavailable", "The embedder cannot be reached.");
    memory.embedder.fail(away);
    const { episodes, degraded } = await makeOne()(request("Which film of Varda did I mention?"));
    expect(episodes[0]?.userMessage).toContain("Varda");
    expect(degraded).toBe(true);
    expect(heard).toEqual([away]);
  });

  test("asks an embedder that is away no more after three times, while keywords go on", async () => {
    memory.embedder.fail(new AppError("embedder_unavailable", "The embedder cannot be reached."));
    const recall = makeOne();
    for (let time = 0; time < 6; time++) expect((await recall(request("director"))).episodes).not.toEqual([]);
    expect(memory.embedder.questions).toHaveLength(3);
  });

  test("with an embedder that says nothing is served by keywords when its time is over", async () => {
    const embedder = { ...memory.embedder, embedQuestion: () => new Promise<never>(() => undefined) };
    const { episodes, degraded } = await makeOne({ embedder })({ ...request("director"), signal: AbortSignal.timeout(1_500) });
    expect({ found: episodes.length > 0, degraded }).toEqual({ found: true, degraded: true });
  });

  test("with the index away gives nothing, says so, and does not throw", async () => {
    const index = { ...memory.index, open: unavailable };
    expect(await makeOne({ index })(request("director"))).toEqual({ episodes: [], degraded: true });
    expect(await makeOne({ index: { ...index, name: unavailable } })(request("director"))).toEqual({ episodes: [], degraded: true });
    expect(heard).toHaveLength(4);
  });

  test("with one leg of the index away is served by the other", async () => {
    const opened = await memory.opened();
    const words = { ...opened, searchVectors: unavailable };
    const vectors = { ...opened, searchWords: unavailable };
    for (const half of [words, vectors]) {
      const recall = makeOne({ index: { ...memory.index, open: async () => half }, minSimilarity: 0.2 });
      const { episodes, degraded } = await recall(request("My favourite director is Agnès Varda"));
      expect(episodes[0]?.userMessage).toContain("Varda");
      expect(degraded).toBe(true);
    }
  });

  test("completes a question that points back with what was said just before", async () => {
    const recent = [
      { role: "user" as const, content: "Tell me about Agnès Varda." },
      { role: "assistant" as const, content: "The director Agnès Varda made Cléo from 5 to 7." },
    ];
    const { episodes } = await makeOne()({ ...request("When did I see a film by that director?"), recent });
    expect(memory.embedder.questions).toEqual([expect.stringMatching(/^When did I see a film by that director\? .*Agnès Varda/)]);
    expect(episodes[0]?.userMessage).toContain("Varda");
    memory.embedder.questions.splice(0);
    await makeOne()({ ...request("What is the capital of France?"), recent });
    expect(memory.embedder.questions).toEqual(["What is the capital of France?"]);
  });

  test("throws when Postgres itself is away, and only then", async () => {
    const gone = new AppError("storage_unavailable", "The database cannot be reached.");
    const episodes = { ...memory.episodes, load: async () => Promise.reject(gone) };
    await expect(makeOne({ episodes })(request("director"))).rejects.toBe(gone);
  });
});
