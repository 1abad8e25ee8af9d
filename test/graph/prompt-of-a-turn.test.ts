import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ConversationGraphParts } from "../../graph/create-conversation-graph.ts";
import { startTurn } from "../../graph/start-turn.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import type { Owner, OwnedConversation } from "../../turn/owner.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeSummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import type { TurnResult } from "../../turn/events.ts";
import { makeFixedKnowledgeCatalog } from "../../stores/knowledge-catalog.ts";
import { tablesHolding } from "../support/databases/scan-tables.ts";
import { interceptStatements } from "../support/databases/record-statements.ts";
import { messagesFromTo, placeOf, sampleSummary, storeConversation, summariseThrough } from "../support/databases/stored-conversation.ts";
import { eventsOf, useGraphWithModel } from "../support/services/graph-with-model.ts";

type Session = Owner & { sessionId: string };

describe("the prompt of a turn", () => {
  const opened = useGraphWithModel({ coreMemory: { timeoutMs: 10_000 } });

  /** One turn that is answered, with its notices. */
  async function say(
    { tenantId, userId, sessionId, ...fields }: Session & Partial<TurnInput>,
    message = "And now?",
    parts: Partial<ConversationGraphParts> = {},
  ): Promise<TurnResult & { notices: string[] }> {
    const events = await eventsOf(startTurn(opened.makeGraph(parts), { tenantId, userId, sessionId, ...fields, message }));
    const last = events.at(-1);
    if (last?.status !== "done") throw new Error(JSON.stringify(last));
    return { ...last.content, notices: events.flatMap((event) => (event.status === "notice" ? [event.content.message] : [])) };
  }

  const summaryInPrompt = () => /<conversation_summary>\n([^]*)\n<\/conversation_summary>$/u.exec(opened.lastPrompt().system)?.[1] ?? null;

  /** A conversation whose first `through` messages have a summary. */
  async function storeSummarised(count: number, through: number, tokenCount = 2): Promise<OwnedConversation & Session> {
    const conversation = await storeConversation(opened.database, { count, tokenCount });
    await summariseThrough(opened.database, conversation, through);
    return conversation;
  }

  /** The last prompt begins with the one before, byte for byte, so that the model's server can reuse it. */
  function expectSameBeginning(): void {
    const [earlier = [], next = []] = opened.server.seen.slice(-2).map(({ body }) => body.messages);
    expect(next.slice(0, earlier.length)).toEqual(earlier);
    expect(next).toHaveLength(earlier.length + 2);
  }

  test("has nothing of another session, user or tenant", async () => {
    const conversation = await storeSummarised(20, 8);
    await makeCoreMemoryStore(opened.database).put(conversation, { section: "profile", content: "Name: Ada" });
    for (const fields of [{ sessionId: "other" }, { userId: "other" }, { tenantId: "other" }]) {
      const { receipt } = await say({ ...conversation, ...fields }, "What is my secret?");
      expect(opened.lastPrompt().others).toEqual(["What is my secret?"]);
      expect(receipt).toMatchObject({ summary: null, window_messages: 0 });
      expect([fields, /Ada/.test(opened.lastPrompt().system)]).toEqual([fields, "sessionId" in fields]);
    }
  });

  describe("without a summary", () => {
    beforeEach(() => opened.server.answer((body) => ({ tokens: [`re: ${body.messages.at(-1)?.content}`] })));

    test.each([0, 2, 6])("has the session so far and the current message once, even when the window is %i", async (historyWindow) => {
      const talk = opened.makeTalk(opened.makeGraph({ historyWindow }));
      for (const message of ["one", "again", "again", "four"]) await talk.say(message);
      expectSameBeginning();
      expect(opened.lastPrompt().others).toEqual(["one", "re: one", "again", "re: again", "again", "re: again", "four"]);
      const roles = opened.server.seen.at(-1)?.body.messages.map(({ role }) => role);
      expect(roles).toEqual(["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    });
  });

  describe("with a summary", () => {
    test("has the summary and every message after it, and says so in the receipt", async () => {
      const { receipt, degraded, notices } = await say(await storeSummarised(20, 8));
      expect(summaryInPrompt()).toBe("> summary 1");
      expect(opened.lastPrompt().others).toEqual([...messagesFromTo(9, 20), "And now?"]);
      expect(receipt).toEqual({
        summary: { version: 1, covered_message_count: 8 },
        window_messages: 12,
        core_memory: [],
        episodes: [],
        passages: [],
        prompt_tokens: { system: 61, core_memory: 0, summary: 41, window: 72, episodes: 0, passages: 0, message: 7 },
      });
      expect({ degraded, notices }).toEqual({ degraded: [], notices: [] });
    });

    test("begins like the one before while the summary's version stays, and takes the next version when there is one", async () => {
      const conversation = await storeSummarised(20, 8);
      await say(conversation);
      await say(conversation, "And then?");
      expectSameBeginning();
      const summary = sampleSummary(await placeOf(opened.database, conversation, 12), { readVersion: 1, addedMessageCount: 4 });
      expect(await makeSummaryStore(opened.database).save(conversation, summary)).toBe(true);
      const { receipt } = await say(conversation, "And at last?");
      expect(summaryInPrompt()).toBe("> summary 2");
      expect(opened.lastPrompt().others.slice(0, 2)).toEqual(["message 13", "message 14"]);
      expect(receipt.summary).toEqual({ version: 2, covered_message_count: 12 });
    });

    test("has every message instead when summaries are switched off", async () => {
      const { receipt, degraded } = await say(await storeSummarised(20, 8), "And now?", { summary: null });
      expect(opened.lastPrompt().others).toEqual([...messagesFromTo(1, 20), "And now?"]);
      expect(opened.lastPrompt().system).not.toMatch(/summar/i);
      expect(receipt).toMatchObject({ summary: null, window_messages: 20 });
      expect(degraded).toEqual([]);
    });
  });

  describe("with instructions", () => {
    const base = { prefix: "trips", description: "Trains", keywords: ["train"], instructions: "Answer like a conductor." };
    const parts = { instructions: "You are Calypso.", knowledge: makeFixedKnowledgeCatalog([base]) };
    const ada = (): Session => ({ tenantId: "tenant", userId: crypto.randomUUID(), sessionId: "s" });
    const toldIn = ({ receipt }: TurnResult) => receipt.instructions?.map(({ from }) => from);

    test("has the service's in every turn, a base's in turns that it answers, and the caller's in that turn alone", async () => {
      const talk = ada();
      const asked = await say({ ...talk, instructions: "Rhyme." }, "Which train?", parts);
      expect(opened.lastPrompt().system).toMatch(/\n\nYou are Calypso\.\n\n[^\n]+:\nAnswer like a conductor\.\n\n[^\n]+:\nRhyme\.$/);
      expect(toldIn(asked)).toEqual(["service", "knowledge", "caller"]);
      expect(asked.receipt.prompt_tokens?.instructions).toBeGreaterThan(40);
      expect(toldIn(await say(talk, "Thank you!", parts))).toEqual(["service"]);
      expect(opened.lastPrompt().system).toMatch(/\n\nYou are Calypso\.$/);
    });

    test("begins the same, byte for byte, in the next turn of the conversation", async () => {
      const talk = { ...ada(), instructions: "Rhyme.", requestedKbPrefix: "trips", agentType: "chat_agent" as const };
      for (const message of ["Which train?", "And the next train?"]) await say(talk, message, parts);
      expectSameBeginning();
      expect(opened.lastPrompt().system).toContain("conductor");
    });

    test("cuts the instructions with a notice when the budget is small, and never cuts the message", async () => {
      const message = "word ".repeat(300);
      const long = { ...ada(), instructions: "tell ".repeat(1_000) };
      const { notices, receipt } = await say(long, message, { contextTokenBudget: 1_000 });
      expect(notices).toEqual([
        expect.stringMatching(/^Not all instructions have room in a prompt of 1000 tokens: those of the caller are/),
      ]);
      expect(receipt.instructions).toMatchObject([{ from: "caller", characters: 5_000, cut: true }]);
      expect(opened.lastPrompt().others).toEqual([message]);
    });

    test("leaves only a hash and a length of the caller's instructions in the database, with the turn alone", async () => {
      const talk = { ...ada(), instructions: "Speak of the canary Zephyrine." };
      const done = await say(talk, "Hello!", parts);
      expect(opened.lastPrompt().system).toContain("Zephyrine");
      expect(await tablesHolding(opened.database, "Zephyrine")).toEqual({});
      const { hash } = done.receipt.instructions?.at(-1) ?? {};
      expect(await tablesHolding(opened.database, hash ?? "none")).toEqual({ "public.turns": 1 });
    });
  });

  describe("at its limit of tokens", () => {
    const oldest = /the oldest \d+ recent messages are left out/;
    const parts = { contextTokenBudget: 1_000 };

    test.each<[string, number, number | null, string[], RegExp[]]>([
      ["nothing covers what has no room", 30, null, ["summary"], [oldest]],
      ["the summary covers only some of what has no room", 30, 8, ["summary"], [oldest]],
      ["some messages are not even read", 300, 8, ["summary"], [/older messages are left out/]],
      ["the summary covers all that has no room", 20, 18, [], [oldest]],
      ["what comes after the summary fits", 300, 294, [], []],
    ])("leaves out old messages only, and says so if the summary lacks them, when %s", async (_name, count, through, degraded, says) => {
      const conversation =
        through === null
          ? await storeConversation(opened.database, { count, tokenCount: 100 })
          : await storeSummarised(count, through, 100);
      const turn = await say(conversation, "And now?", count === 20 ? { ...parts, historyWindow: 20 } : parts);
      expect(turn.degraded).toEqual(degraded);
      expect(turn.notices).toEqual(says.map((text) => expect.stringMatching(text)));
      expect(turn.receipt.window_messages).toBeGreaterThan(5);
      expect(turn.receipt.window_messages).toBeLessThan(10);
      expect(opened.lastPrompt().others.slice(-3)).toEqual([...messagesFromTo(count - 1, count), "And now?"]);
      expect(summaryInPrompt()).toBe(through === null ? null : "> summary 1");
    });

    test("shortens long messages", async () => {
      const talk = opened.makeTalk(opened.makeGraph({ contextTokenBudget: 350 }));
      await talk.say("word ".repeat(120));
      const { notices, receipt, degraded } = await say(talk.input, "word ".repeat(120), { contextTokenBudget: 350 });
      expect(notices).toEqual([expect.stringContaining("350 tokens: 1 long message is shortened.")]);
      expect({ window: receipt.window_messages, degraded }).toEqual({ window: 2, degraded: [] });
    });
  });

  describe("with core memory", () => {
    let ada: Session;
    beforeEach(async () => {
      ada = { tenantId: "tenant", userId: crypto.randomUUID(), sessionId: "s" };
      await write("profile", "Name: Ada");
    });
    const write = (section: string, content: string) => makeCoreMemoryStore(opened.database).put(ada, { section, content });

    test("has all sections, the same in every session, and lists them in the receipt with their versions", async () => {
      await write("profile", "Name: Grace");
      await write("goals", "To sail");
      const { receipt, degraded } = await say(ada);
      const { system } = opened.lastPrompt();
      expect(system).toMatch(/<core_memory>\n\[goals\]\n> To sail\n\[profile\]\n> Name: Grace\n<\/core_memory>$/);
      expect(receipt.core_memory).toEqual([
        { section: "goals", version: 1 },
        { section: "profile", version: 2 },
      ]);
      expect(degraded).toEqual([]);
      await say({ ...ada, sessionId: "another session" });
      expect(opened.lastPrompt().system).toBe(system);
    });

    const afterErase = (row: Record<string, object>) => ({ 0: { ...row["0"], lastErasure: "2001-01-01 00:00:00+00" } });
    test.each<[string, string[], ((run: () => Promise<unknown[]>) => Promise<unknown[]>) | null]>([
      ["is switched off", [], null],
      ["fails", ["core_memory"], () => Promise.reject(new Error("secret words of the database"))],
      [
        "was read before another erase of the user",
        [],
        async (run) => (await run()).map((row) => afterErase(row as Record<string, object>)),
      ],
    ])("has no sections when core memory %s, and the turn is answered all the same", async (_name, degraded, load) => {
      const database = interceptStatements(opened.database, (statement, run) =>
        load && statement.name === "core-memory-load" ? load(run) : run(),
      );
      const done = await say(ada, "hello", { database, coreMemory: load && { timeoutMs: 10_000 } });
      expect(done).toMatchObject({ completed: true, degraded, answer: "Hi there.", receipt: { core_memory: [] } });
      expect(opened.lastPrompt().system).not.toMatch(/Ada|core_memory/);
      expect(JSON.stringify(done)).not.toContain("secret");
      expect((await say(ada, "hello again")).receipt.core_memory).toHaveLength(1);
    });
  });
});
