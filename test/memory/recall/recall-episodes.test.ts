import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeIndexEpisodes } from "../../../memory/episodes/index-episodes.ts";
import { makeRecall, type Recall, type RecallParts, type RecallRequest } from "../../../memory/recall/recall-episodes.ts";
import { cacheQuestionVectors } from "../../../models/embedder.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeArchiveStore } from "../../../stores/postgres/memory/archive-store.ts";
import type { SearchFilter, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const NOW = new Date("2024-06-12T12:00:00Z"); // a Wednesday
const SAID = exchanges(
  ["My favourite director is Agnès Varda, I saw Cléo in spring.", "A wonderful film."],
  ["I am allergic to peanuts.", "I will remember that."],
  ["我女儿的钢琴老师叫林晓梅。", "林老师听起来很好。"],
  ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
);
const AWAY = new AppError("index_unavailable", "It cannot be reached.");
const unavailable = (): Promise<never> => Promise.reject(AWAY);

describe("recall", () => {
  const memory = useTestEpisodicMemory();
  let ada: OwnedConversation;
  const heard: unknown[] = [];
  beforeAll(async () => {
    ada = await memory.remember(SAID, { userId: "ada", at: "2024-03-05T12:00:00Z" });
  });
  beforeEach(() => {
    memory.embedder.fail(null);
    memory.embedder.questions.splice(0);
    heard.splice(0);
  });

  function makeOne(parts: Partial<RecallParts> = {}): Recall {
    const { index, episodes, embedder } = memory;
    const onError = (error: unknown): void => void heard.push(error);
    return makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5, now: () => NOW, onError, ...parts });
  }
  /** An index whose calls are these, where it is not as it was. */
  async function indexWith(changed: Partial<SearchIndex>): Promise<RecallParts["index"]> {
    const opened = await memory.opened();
    return { ...memory.index, open: async () => ({ ...opened, ...changed }) };
  }
  const request = (question: string) => ({ tenantId: "tenant", userId: "ada", question, limit: 3 });
  /** What the user said in the exchanges that are recalled. */
  async function recalled(question: string, changed: Partial<RecallRequest> = {}, recall = makeOne()): Promise<string[]> {
    return (await recall({ ...request(question), ...changed })).episodes.map(({ userMessage }) => userMessage);
  }

  test.each([
    ["Which director did I mention?", "Agnès Varda"],
    ["谁教我女儿弹钢琴？", "林晓梅"],
    ["How much do I pay for the flat?", "900 euros"],
  ])("answers %j from what was said", async (question, said) => {
    const { episodes, degraded } = await makeOne()(request(question));
    expect(episodes[0]?.userMessage).toContain(said);
    expect(degraded).toBe(false);
  });

  test("gives more than asked for only while there is room", async () => {
    const question = "Which director, teacher and flat did I mention, and which peanuts?";
    const shown = async (room: Partial<RecallRequest>) => (await makeOne()({ ...request(question), limit: 1, ...room })).order.length;
    expect(await shown({ tokens: 1_000 })).toBe(4);
    expect(await shown({ tokens: 0 })).toBe(1);
    expect(await recalled(question, { limit: 1 })).toHaveLength(1);
  });

  test("gives both messages, their ids, time, kind, importance and conversation as they are stored", async () => {
    const [asked, answer] = await memory.messages(ada);
    const [first] = (await makeOne()(request("director Varda"))).episodes;
    expect(first).toMatchObject({
      id: asked?.id,
      messageIds: [asked?.id, answer?.id],
      userMessage: asked?.content,
      assistantMessage: answer?.content,
      conversationId: ada.conversationId,
      createdAt: asked?.created_at,
      episodeType: "preference",
      importance: 0.8,
    });
  });

  test("finds nothing by a word that most exchanges have or by one character, unless that is the whole question", async () => {
    const said = ["the garden", "my novel", "a bridge", "the fence", "our taxes", "the roof", "a boat", "my thesis", "的桌子", "的画"];
    const work = exchanges(...said.map((thing): [string, string] => [`I work on ${thing} 今天天气冷`, "Good."]));
    await memory.remember(work, { userId: "worker" });
    const ask = (question: string) => recalled(question, { userId: "worker", limit: 20 });
    for (const question of ["Explain how a transistor works inside amplifiers.", "冰箱为何要除霜？天", "zebra quantum", "!?!"])
      expect(await ask(question)).toEqual([]);
    expect(await ask("my work")).toHaveLength(10);
    const [best, ...others] = await ask("How does the work on the bridge go?");
    expect(best).toContain("bridge");
    expect(others).toHaveLength(9); // what one convincing exchange brings with it
  });

  test("gives at most as many as asked for, without those that are not wanted, which others take the place of", async () => {
    const recall = makeOne({ minSimilarity: -1 });
    const asked = request("director Varda peanuts flat");
    const { episodes } = await recall({ ...asked, limit: 10 });
    expect(episodes).toHaveLength(4);
    const except = new Set(episodes.slice(0, 2).map(({ id }) => id));
    expect((await recall({ ...asked, limit: 2, except })).episodes).toEqual(episodes.slice(2));
    expect((await recall({ ...asked, limit: 1 })).episodes).toHaveLength(1);
  });

  test("searches all conversations of the user, or one when it is named", async () => {
    await memory.remember(exchanges(["The director of my school is Mr Gomes.", "I see."]), { userId: "ada", sessionId: "other" });
    const [varda, gomes] = [expect.stringContaining("Varda"), expect.stringContaining("Gomes")];
    expect((await recalled("director")).toSorted()).toEqual([varda, gomes]);
    expect(await recalled("director", { conversationId: ada.conversationId })).toEqual([varda]);
    expect(await recalled("director", { conversationId: crypto.randomUUID() })).toEqual([]);
  });

  test("leaves out what is older than the age that is set", async () => {
    for (const at of ["2024-06-01T12:00:00Z", "2023-06-01T12:00:00Z"])
      await memory.remember(exchanges([`I bought a kayak at ${at}.`, "Enjoy!"]), { userId: "age", at });
    const found = [undefined, 30, 5].map((maxAgeDays) => recalled("kayak", { userId: "age" }, makeOne({ maxAgeDays })));
    expect(await Promise.all(found)).toEqual([[expect.any(String), expect.any(String)], [expect.stringContaining("2024-06")], []]);
  });

  test.each(["%", "ad_", "ada' or '1'='1", 'ada"}', '["tenant","ada"]', "ada\n", "ADA", "阿达", "", "*"])(
    "gives user %j nothing of another's, also when both have said the same",
    async (userId) => {
      const said = "My favourite director is Bergman.";
      await memory.remember(exchanges([said, "Good."]), { userId });
      const recall = makeOne({ minSimilarity: -1 });
      expect(await recalled("director", { userId, limit: 50 }, recall)).toEqual([said]);
      expect(await recalled("director", { limit: 50 }, recall)).not.toContain(said);
    },
  );

  test("gives the same user of another tenant nothing, nor one whose names run together with another's", async () => {
    const recall = makeOne({ minSimilarity: -1 });
    for (const other of [{ tenantId: "acme" }, { tenantId: "tenanta", userId: "da" }, { tenantId: "", userId: "tenantada" }]) {
      expect(await recalled("director", other, recall)).toEqual([]);
      expect(await recalled("director", { ...other, conversationId: ada.conversationId }, recall)).toEqual([]);
    }
  });

  test("gives the next best in the place of what was erased or became incomplete in Postgres, though the index still has it", async () => {
    const best = await memory.remember(exchanges(["My bank is the Green Bank of Porto.", "Fine."]), { userId: "moved" });
    const next = await memory.remember(exchanges(["The bank has a green door.", "half an ans"]), { userId: "moved" });
    const ask = () => recalled("Green Bank of Porto", { userId: "moved", limit: 1 });
    expect(await ask()).toEqual(["My bank is the Green Bank of Porto."]);
    await makeEraseStore(memory.database).conversation(best);
    expect(await ask()).toEqual(["The bank has a green door."]);
    await memory.makeIncomplete(next, "half an ans");
    expect(await makeOne()({ ...request("Green Bank of Porto"), userId: "moved" })).toEqual({ episodes: [], order: [], degraded: false });
    expect([await memory.indexed(best), await memory.indexed(next)]).toMatchObject([[{}], [{}]]);
  });

  test("is served by keywords alone while the embedder is away, says so, and stops asking it after three times", async () => {
    memory.embedder.fail(AWAY);
    const recall = makeOne();
    for (let time = 0; time < 6; time++)
      expect(await recall(request("Which film of Varda did I mention?"))).toMatchObject({ episodes: [{}], degraded: true });
    expect(memory.embedder.questions).toHaveLength(3);
    expect(heard.slice(0, 3)).toEqual([AWAY, AWAY, AWAY]);
  });

  test("gives nothing while the index is away, says so, and does not throw", async () => {
    for (const index of [
      { ...memory.index, open: unavailable },
      { ...memory.index, name: unavailable },
    ])
      expect(await makeOne({ index })(request("director"))).toEqual({ episodes: [], order: [], degraded: true });
    expect(heard).toHaveLength(4);
  });

  test.each(["searchVectors", "searchWords"] as const)("with %s of the index away is served by the other leg", async (leg) => {
    const recall = makeOne({ index: await indexWith({ [leg]: unavailable }), minSimilarity: 0.2 });
    const { episodes, degraded } = await recall(request("My favourite director is Agnès Varda"));
    expect(episodes[0]?.userMessage).toContain("Varda");
    expect(degraded).toBe(true);
  });

  test("throws when Postgres itself is away, and only then", async () => {
    const episodes = { ...memory.episodes, load: unavailable };
    await expect(makeOne({ episodes })(request("director"))).rejects.toBe(AWAY);
  });

  test("completes a question that points back with what was said just before", async () => {
    const recent = [{ role: "assistant" as const, content: "The director Agnès Varda made Cléo from 5 to 7." }];
    expect((await recalled("When did I see a film by that director?", { recent }))[0]).toContain("Varda");
    await recalled("What is the capital of France?", { recent });
    const completed = expect.stringMatching(/^When did I see a film by that director\? .*Agnès Varda/);
    expect(memory.embedder.questions).toEqual([completed, "What is the capital of France?"]);
  });

  test("embeds a foreseen question at once and once, again when that failed, and one that points back only when it is known at what", async () => {
    const recall = makeOne({ embedder: cacheQuestionVectors(memory.embedder) });
    const question = "Which director did I mention?";
    recall.foresee?.("And that director you mentioned?");
    memory.embedder.fail(new Error("away"));
    recall.foresee?.(question);
    await new Promise(setImmediate);
    memory.embedder.fail(null);
    recall.foresee?.(question);
    expect(memory.embedder.questions).toEqual([question, question]);
    expect(await recall(request(question))).toMatchObject({ degraded: false });
    expect(memory.embedder.questions).toHaveLength(2);
  });

  test.each([
    ["What did I eat on June 4?", "UTC"],
    ["6月4日我吃了什么？", "UTC"],
    ["What did I eat last Wednesday?", "Asia/Shanghai"],
  ])("answers %j in %s from the day that it names, others behind it", async (question, timeZone) => {
    const userId = `days ${question}`;
    const { episodes, index, embedder } = memory;
    const handler = makeIndexEpisodes({ episodes, archive: makeArchiveStore(memory.database), index, embedder, timeZone });
    for (const [number, dish] of ["rice", "pizza", "soup", "salad", "curry"].entries()) {
      const said = exchanges([`I did eat ${dish} and I did like it, I did.`, "Good."]);
      await memory.step(await memory.store(said, { userId, sessionId: dish, at: `2024-06-0${number + 2}T18:00:00Z` }), handler);
    }
    const found = await recalled(question, { userId, limit: 5 }, makeOne({ timeZone }));
    expect(found[0]).toContain("soup");
    expect(found.length).toBeGreaterThan(1);
  });

  test("searches a named day by itself when there is more than one search gives, and only then; when that fails, says so", async () => {
    await memory.remember(exchanges(["I did eat soup.", "Good."]), { userId: "gourmet", at: "2024-06-04T18:00:00Z" });
    const opened = await memory.opened();
    let filters: SearchFilter[] = [];
    const ask = async ({ isFull = false, fails = false }): Promise<unknown> => {
      filters = [];
      const searchVectors: SearchIndex["searchVectors"] = async (filter, embedding, limit) => {
        filters.push(filter);
        if (fails && filter.until) throw AWAY;
        const hits = await opened.searchVectors(filter, embedding, limit);
        const others = Array.from({ length: limit - Number(fails) }, () => ({ ...hits[0]!, id: crypto.randomUUID(), score: -1 }));
        return !isFull || filter.until ? hits : [...(fails ? hits : []), ...others];
      };
      const index = await indexWith({ searchVectors, searchWords: async () => [] });
      const { episodes, degraded } = await makeOne({ index })({ ...request("What was on the table on June 4?"), userId: "gourmet" });
      return [...episodes.map(({ userMessage }) => userMessage), degraded];
    };
    const everywhere = { ownerKey: expect.any(String) };
    expect(await ask({})).toEqual(["I did eat soup.", false]);
    expect(filters).toEqual([everywhere]);
    expect(await ask({ isFull: true })).toEqual(["I did eat soup.", false]);
    expect(filters).toEqual([
      everywhere,
      { ...everywhere, from: new Date("2024-06-04T00:00:00Z"), until: new Date("2024-06-05T00:00:00Z") },
    ]);
    expect(await ask({ isFull: true, fails: true })).toEqual(["I did eat soup.", true]);
    expect(heard).toEqual([AWAY]);
  });
});
