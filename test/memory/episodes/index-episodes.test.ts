import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeIndexEpisodes, textToEmbed } from "../../../memory/episodes/index-episodes.ts";
import { makeArchiveStore } from "../../../stores/postgres/memory/archive-store.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeTurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import { episodeGroupId, ownerKey } from "../../../stores/index-keys.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { exchanges, useTestEpisodicMemory, type IndexHandler, type Said } from "../../support/services/episodic-memory.ts";

const turns = (count: number): Said[] => exchanges(...Array.from({ length: count }, (_, n) => [`question ${n}`, `answer ${n}`] as const));

describe("indexing a conversation", () => {
  const memory = useTestEpisodicMemory();
  /** The step of another process, or of another index. */
  const makeHandler = (index: Parameters<typeof makeIndexEpisodes>[0]["index"] = memory.index): IndexHandler =>
    makeIndexEpisodes({ ...memory, archive: makeArchiveStore(memory.database), index, timeZone: "UTC" });
  beforeEach(() => {
    memory.embedder.fail(null);
    memory.embedder.beforePassages(async () => undefined);
    memory.embedder.passages.splice(0);
  });

  test("makes each completed turn one episode: its id is that of the user's message, its time and owner are the turn's", async () => {
    const conversation = await memory.remember(exchanges(["I like green tea.", "Noted."], ["We booked Porto.", "Good."]));
    const { tenantId, userId, conversationId } = conversation;
    const [tea, noted, porto, good] = await memory.messages(conversation);
    const [first, second] = await memory.indexed(conversation);
    expect(first).toMatchObject({
      id: tea?.id,
      ownerKey: ownerKey(tenantId, userId),
      groupId: episodeGroupId(conversationId),
      createdAt: tea?.created_at,
      previousId: null,
      attributes: { conversation_id: conversationId, answer_id: noted?.id, episode_type: "preference", importance: 0.8 },
    });
    expect(second).toMatchObject({ id: porto?.id, previousId: tea?.id, attributes: { answer_id: good?.id, episode_type: "decision" } });
    expect(memory.embedder.passages).toEqual([["I like green tea.\nNoted.", "We booked Porto.\nGood."]]);
  });

  test("leaves the words of an answer that loops or was cut out of the index", async () => {
    const conversation = await memory.remember(exchanges(["Where is Porto?", "I am sorry to hear that. ".repeat(30)]), {
      sessionId: "loop",
    });
    expect(memory.embedder.passages).toEqual([["Where is Porto?"]]);
    expect(await memory.indexed(conversation)).toHaveLength(1);
    memory.embedder.passages.splice(0);
    const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: "cut" };
    const answer = sampleAnswer({ content: "It is a town in the", metadata: { turn_id: uuidv7(), cut: "length" } });
    const turn = sampleTurn({ ...owner, turnId: uuidv7(), message: "And Braga?" });
    const { conversationId } = await completeTurn(makeTurnStore(memory.database), turn, answer);
    await memory.indexAll({ ...owner, conversationId });
    expect(memory.embedder.passages).toEqual([["And Braga?"]]);
  });

  test("takes an answer that is nothing but a thought for none", async () => {
    const thought = "<think>Where is Porto?</think>";
    const conversation = await memory.remember([...exchanges(["Where is Porto?", thought]), ["assistant", thought]]);
    expect(memory.embedder.passages).toEqual([["Where is Porto?", ""]]);
    expect(await memory.indexed(conversation)).toHaveLength(2);
  });

  test("a second time changes nothing and costs no embedding, but takes up what came later, and names the episode before it", async () => {
    const conversation = await memory.store(turns(2), { sessionId: "more" });
    expect(await memory.indexAll(conversation)).toBe(1);
    const before = await memory.indexed(conversation);
    expect(before).toHaveLength(2);
    memory.embedder.passages.splice(0);
    expect(await memory.indexAll(conversation)).toBe(1);
    expect(await memory.indexed(conversation)).toEqual(before);
    expect(memory.embedder.passages).toEqual([]);
    await memory.store(exchanges(["later", "yes"]), { ...conversation, sessionId: "more", at: "2024-02-01T12:00:00Z" });
    await memory.indexAll(conversation);
    expect(await memory.indexed(conversation)).toEqual([...before, expect.objectContaining({ previousId: before[1]?.id })]);
    expect(memory.embedder.passages).toEqual([["later\nyes"]]);
  });

  test("leaves out turns without a complete answer, and makes an imported message without a partner an episode of its own", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: "session" };
    const store = makeTurnStore(memory.database);
    const say = (message: string, answer: { completed: boolean } | null) =>
      completeTurn(
        store,
        sampleTurn({ ...owner, turnId: uuidv7(), message }),
        answer && sampleAnswer({ content: `re: ${message}`, ...answer }),
      );
    const { conversationId } = await say("first", { completed: true });
    await say("cut short", { completed: false });
    await say("unanswered", null);
    await say("last", { completed: true });
    await beginFreely(store, sampleTurn({ ...owner, turnId: uuidv7(), message: "waiting", leaseMs: EXPIRED_LEASE_MS }));
    const imported = [["assistant", "imported first"], ["user", "imported alone"], ...exchanges(["imported question", "imported answer"])];
    await memory.store(imported as Said[], owner);
    const conversation = { ...owner, conversationId };
    await memory.indexAll(conversation);
    const messages = await memory.messages(conversation);
    const contentOf = (id: unknown): string | undefined => messages.find((message) => message.id === id)?.content;
    expect((await memory.indexed(conversation)).map(({ id, attributes }) => [contentOf(id), contentOf(attributes["answer_id"])])).toEqual([
      ["imported first", "imported first"],
      ["imported alone", "imported alone"],
      ["imported question", "imported answer"],
      ["first", "re: first"],
      ["last", "re: last"],
    ]);
    expect(memory.embedder.passages.flat().join()).not.toMatch(/cut short|unanswered|waiting/);
  });

  test("makes a turn an episode whose answer comes after an earlier step", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: "session" };
    const store = makeTurnStore(memory.database);
    const { conversationId } = await completeTurn(store, sampleTurn({ ...owner, turnId: uuidv7() }));
    const waiting = await beginFreely(store, sampleTurn({ ...owner, turnId: uuidv7() }));
    const conversation = { ...owner, conversationId };
    await memory.indexAll(conversation);
    expect(await memory.indexed(conversation)).toHaveLength(1);
    await store.finish(waiting, sampleAnswer());
    await memory.indexAll(conversation);
    expect((await memory.indexed(conversation)).map(({ id }) => id)).toContain(waiting.messageId);
  });

  test("of 300 turns asks for 64 texts at a time, one request a step, and keeps the order across steps", async () => {
    const conversation = await memory.store(turns(300));
    expect(await memory.indexAll(conversation)).toBe(5);
    expect(memory.embedder.passages.map(({ length }) => length)).toEqual([64, 64, 64, 64, 44]);
    const questions = (await memory.messages(conversation)).filter(({ role }) => role === "user").map(({ id }) => id);
    const episodes = await memory.indexed(conversation);
    expect(episodes.map(({ id }) => id)).toEqual(questions);
    expect(episodes.map(({ previousId }) => previousId)).toEqual([null, ...questions.slice(0, -1)]);
  });

  test.each<[string, Said[], number]>([
    ["answers to nothing", Array.from({ length: 300 }, (_, n): Said => ["assistant", `note ${n}`]), 300],
    ["an answer to nothing first", [["assistant", "Welcome!"], ...turns(70)], 71],
    ["many questions before the first answer", [...Array<Said>(290).fill(["user", "hello?"]), ["assistant", "Yes."]], 290],
    ["two answers each", Array.from({ length: 200 }, (_, n): Said => [n % 3 === 0 ? "user" : "assistant", `text ${n}`]), 133],
  ])("of %s comes to an end", async (_name, said, count) => {
    const conversation = await memory.store(said);
    expect(await memory.indexAll(conversation)).toBeLessThanOrEqual(4);
    expect(await memory.indexed(conversation)).toHaveLength(count);
    expect(await memory.remaining(conversation)).toBe("nothing");
  });

  test("writes nothing and moves on nowhere when the embedder fails, and does everything the next time", async () => {
    const conversation = await memory.store(turns(70));
    memory.embedder.fail(new Error("no embeddings today"));
    await expect(memory.step(conversation)).rejects.toThrow("no embeddings today");
    expect(await memory.indexed(conversation)).toEqual([]);
    expect(await memory.remaining(conversation)).toBe("more");
    memory.embedder.fail(null);
    expect(await memory.indexAll(conversation)).toBe(2);
    expect(await memory.indexed(conversation)).toHaveLength(70);
  });

  // The jobs that clear the index run after 5 and 60 seconds: a step that embeds for longer writes behind the last of them.
  test("leaves nothing in the index when the conversation is deleted in mid-step, and says that it is gone", async () => {
    const conversation = await memory.store(turns(5));
    const neighbour = await memory.remember(turns(2), { userId: conversation.userId });
    memory.embedder.beforePassages(async () => void (await makeEraseStore(memory.database).conversation(conversation)));
    await memory.step(conversation);
    expect(memory.embedder.passages.flat()).toContain("question 4\nanswer 4");
    expect(await (await memory.opened()).count(ownerKey(conversation.tenantId, conversation.userId))).toBe(2);
    expect(await memory.indexed(neighbour)).toHaveLength(2);
    expect(await memory.remaining(conversation)).toBe("erased");
  });

  test("leaves out a turn that is erased in mid-step", async () => {
    const conversation = await memory.store(turns(4));
    const questions = (await memory.messages(conversation)).filter(({ role }) => role === "user").map(({ id }) => id);
    const [gone = ""] = questions.splice(2, 1);
    memory.embedder.beforePassages(async () => void (await makeEraseStore(memory.database).episode(conversation, gone)));
    await memory.step(conversation);
    expect(memory.embedder.passages.flat()).toContain("question 2\nanswer 2");
    expect((await memory.indexed(conversation)).map(({ id }) => id)).toEqual(questions);
    expect(await memory.remaining(conversation)).toBe("nothing");
  });

  test("makes the index quick to search after a conversation of several steps, and not after single turns", async () => {
    const flushed: string[] = [];
    const opened = await memory.opened();
    const handler = makeHandler({ ...memory.index, open: async (name) => ({ ...opened, flush: async () => void flushed.push(name) }) });
    const single = async (): Promise<void> => memory.step(await memory.store(turns(1)), handler);
    for (let turn = 0; turn < 70; turn++) await single();
    expect(flushed).toEqual([]);
    const conversation = await memory.store(turns(130));
    for (let step = 0; step < 2; step++) {
      await memory.step(conversation, handler);
      await single();
      expect(flushed).toEqual([]);
    }
    await memory.step(conversation, handler);
    expect(flushed).toEqual([await memory.index.name()]);
    for (let turn = 0; turn < 70; turn++) await single();
    expect(flushed).toHaveLength(1);
  });

  test("by two processes at once makes each turn one episode", async () => {
    const conversation = await memory.store(turns(100));
    const other = makeHandler();
    for (let time = 0; time < 2; time++) await Promise.all([memory.step(conversation), memory.step(conversation, other)]);
    await memory.indexAll(conversation);
    const all = await memory.indexed(conversation);
    expect(all).toHaveLength(100);
    expect(all.map(({ previousId }) => previousId)).toEqual([null, ...all.slice(0, -1).map(({ id }) => id)]);
  });

  test("writes nothing when the caller gives up before the embedder answers", async () => {
    const conversation = await memory.store(turns(2));
    const stopping = new AbortController();
    memory.embedder.beforePassages(async () => stopping.abort());
    const stopped = memory.handler.step({ kind: "index_episodes", ...conversation }, stopping.signal);
    await expect(stopped).rejects.toThrow("aborted");
    expect(await memory.indexed(conversation)).toEqual([]);
  });
});

describe("the text of an exchange that is embedded", () => {
  const [short, long, tooLong] = ["Agnès Varda.", "x".repeat(400), "x".repeat(401)].map((content) => ({ content }));

  test.each([
    ["both messages when the answer is short", short, long, `${short!.content}\n${long!.content}`],
    ["the user's message alone when the answer is long", short, tooLong, short!.content],
    ["the whole of a long message of the user", tooLong, short, `${tooLong!.content}\n${short!.content}`],
    ["an answer without a question, however long", null, tooLong, tooLong!.content],
    ["a question without an answer", tooLong, null, tooLong!.content],
  ])("is %s", (_name, asked, answer, expected) => {
    expect(textToEmbed({ asked: asked ?? null, answer: answer ?? null } as Parameters<typeof textToEmbed>[0])).toBe(expected);
  });
});
