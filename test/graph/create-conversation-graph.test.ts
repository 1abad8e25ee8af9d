import { HumanMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startTurn } from "../../graph/start-turn.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import { makeFixedKnowledgeCatalog, type KnowledgeCatalog } from "../../stores/knowledge-catalog.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openGraphWithModel, type GraphWithModel } from "../support/services/graph-with-model.ts";

const NODES = ["core_memory", "generate_rag", "history", "persist", "retrieve", "route"];
const FILMS = makeFixedKnowledgeCatalog([{ prefix: "films", description: "about films", keywords: ["film"] }]);

describe("the conversation graph in process", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel({ knowledge: FILMS });
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer({ tokens: ["Hi ", "there."] });
    opened.server.seen.splice(0);
  });

  test("runs route and history side by side: each begins before the other ends", async () => {
    const routeBegan = Promise.withResolvers<void>();
    const historyBegan = Promise.withResolvers<void>();
    const knowledge: KnowledgeCatalog = {
      async list() {
        routeBegan.resolve();
        await historyBegan.promise;
        return [];
      },
    };
    const watched: Database = {
      ...opened.database,
      async query(statement) {
        if (statement.name === "turn-begin") {
          historyBegan.resolve();
          await routeBegan.promise;
        }
        return opened.database.query(statement);
      },
    };
    const talk = opened.makeTalk(opened.makeGraph({ database: watched, knowledge }));
    expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { answer: "Hi there." } });
  }, 20_000);

  describe("with a knowledge base that cannot be used", () => {
    test("that does not exist gives an error that names it, asks nothing of the model and leaves the conversation free", async () => {
      const talk = opened.makeTalk();
      const heard: string[] = [];
      const turn = startTurn(
        opened.makeGraph(),
        { ...talk.input, message: "Hello?", requestedKbPrefix: "nowhere" },
        { onError: ({ code }) => heard.push(code) },
      );
      const last = await turn.ended;
      expect(last).toMatchObject({ status: "error", content: { code: "invalid_request", retryable: false } });
      expect(last.content).toMatchObject({ message: expect.stringMatching(/kb_prefix.*"nowhere".*general, films/) });
      expect(heard).toEqual(["invalid_request"]);
      expect(opened.server.seen).toHaveLength(0);
      expect((await talk.stored()).map(({ role }) => role)).toEqual(["user"]);
      expect(await talk.isFree()).toBe(true);
    });

    test("whose catalog fails gives an error whose words stay inside, and leaves the conversation free", async () => {
      const failure = new Error("secret words of the catalog");
      const knowledge: KnowledgeCatalog = { list: () => Promise.reject(failure) };
      const talk = opened.makeTalk(opened.makeGraph({ knowledge }));
      const causes: unknown[] = [];
      const last = await talk.start("Hello?", { onError: ({ cause }) => causes.push(cause) }).ended;
      expect(last).toMatchObject({ status: "error", content: { code: "internal_error" } });
      expect(JSON.stringify(last)).not.toContain("secret");
      expect(causes).toEqual([failure]);
      expect(opened.server.seen).toHaveLength(0);
      expect(await talk.isFree()).toBe(true);
    });
  });

  describe("with debug", () => {
    test("gives one execution log for every node, in the state and as events, and no message text", async () => {
      const { input } = opened.makeTalk();
      const graph = opened.makeGraph();
      const state = await graph.invoke({ ...input, message: "my private words", debug: true });
      expect(state.executionLogs.map(({ node }) => node).sort()).toEqual(NODES);
      expect(state.executionLogs.every(({ ms }) => ms >= 0)).toBe(true);
      expect(JSON.stringify(state.executionLogs)).not.toMatch(/private|there/);

      const logged: string[] = [];
      for await (const event of startTurn(graph, { ...input, message: "again", debug: true }).events()) {
        if (event.status === "execution_log") logged.push(event.content.node);
      }
      expect(logged.sort()).toEqual(NODES);
    });

    test("off, as it is by default, gives no logs, but the milliseconds of every node all the same", async () => {
      const { input } = opened.makeTalk();
      const state = await opened.makeGraph().invoke({ ...input, message: "Hello!" });
      expect(state.executionLogs).toEqual([]);
      expect(Object.keys(state.timings).sort()).toEqual(NODES);
    });
  });

  describe("without a turn around it, as Studio and other programs run it", () => {
    test("invoke gives the whole state and stores the turn", async () => {
      const talk = opened.makeTalk();
      const state = await opened.makeGraph().invoke({ ...talk.input, message: "Which film?" });
      expect(state).toMatchObject({
        answer: "Hi there.",
        partialAnswer: false,
        error: null,
        kbPrefix: "films",
        workerName: "films:hybrid_agent",
        useRetrieval: true,
        recentMessages: [],
        degraded: ["knowledge"], // this graph has no index to search documents in
      });
      expect(state.messages.map((message) => [message.type, message.text])).toEqual([
        ["human", "Which film?"],
        ["ai", "Hi there."],
      ]);
      expect((await talk.stored()).map(({ id }) => id)).toEqual([state.currentMessageId, state.answerMessageId]);
      expect(await talk.isFree()).toBe(true);
    });

    test("stream gives the events of the nodes on LangGraph's custom stream", async () => {
      const { input } = opened.makeTalk();
      const statuses: string[] = [];
      for await (const event of await opened.makeGraph().stream({ ...input, message: "Hello!" }, { streamMode: "custom" })) {
        statuses.push((event as { status: string }).status);
      }
      expect(statuses.toSorted()).toEqual(["accepted", "route_decision", "token", "token"]);
    });

    test("the offline model answers, from what it was given", async () => {
      const graph = opened.makeGraph({ chatModel: new OfflineChatModel() });
      const { input } = opened.makeTalk();
      await graph.invoke({ ...input, message: "我最喜欢的颜色是绿色。" });
      const { answer, usage } = await graph.invoke({ ...input, message: "我喜欢什么颜色？" });
      expect(answer).toContain("“我最喜欢的颜色是绿色。”");
      const { prompt_tokens = 0, completion_tokens = 0 } = usage ?? {};
      expect(usage).toMatchObject({ estimated: true, total_tokens: prompt_tokens + completion_tokens });
    });

    test("messages that the caller hands in are not taken for history", async () => {
      const { input } = opened.makeTalk();
      await opened.makeGraph().invoke({ ...input, message: "Hello!", messages: [new HumanMessage("injected")] });
      expect(opened.server.seen[0]?.body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
      expect(JSON.stringify(opened.server.seen[0]?.body)).not.toContain("injected");
    });
  });
});
