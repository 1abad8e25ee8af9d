import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { startTurn, type RunningTurn } from "../../graph/start-turn.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import { makeFixedKnowledgeCatalog, type KnowledgeCatalog } from "../../stores/knowledge-catalog.ts";
import { TWO_BASES } from "../nodes/routing/route-test-parts.ts";
import type { SeenRequest } from "../servers/model-server.ts";
import { interceptStatements } from "../support/databases/record-statements.ts";
import { eventsOf, useGraphWithModel } from "../support/services/graph-with-model.ts";
import { waitUntil } from "../support/wait-until.ts";

const NODES = ["core_memory", "generate", "history", "persist", "retrieve", "route"];
const FILMS = makeFixedKnowledgeCatalog([{ prefix: "films", description: "about films", keywords: ["film"] }]);

describe("the conversation graph in process", () => {
  const opened = useGraphWithModel({ knowledge: FILMS });

  /** The database, whose turns begin only when `until` has settled. */
  const beginningAfter = (until: () => Promise<unknown>) =>
    interceptStatements(opened.database, async (statement, run) => {
      if (statement.name === "turn-begin") await until();
      return run();
    });

  test("runs route and history side by side, so that each begins before the other ends", async () => {
    const routeBegan = Promise.withResolvers<void>();
    const historyBegan = Promise.withResolvers<void>();
    const knowledge: KnowledgeCatalog = {
      async list() {
        routeBegan.resolve();
        await historyBegan.promise;
        return [];
      },
    };
    const database = beginningAfter(() => {
      historyBegan.resolve();
      return routeBegan.promise;
    });
    const talk = opened.makeTalk(opened.makeGraph({ database, knowledge }));
    expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { answer: "Hi there." } });
  });

  test("gives an error that names a missing knowledge base, asks no model and leaves the conversation free", async () => {
    const talk = opened.makeTalk();
    const heard: string[] = [];
    const input = { ...talk.input, message: "Hello?", requestedKbPrefix: "nowhere" };
    const last = await startTurn(opened.makeGraph(), input, { onError: ({ code }) => heard.push(code) }).ended;
    expect(last).toMatchObject({ status: "error", content: { code: "invalid_request", retryable: false } });
    expect(last.content).toMatchObject({ message: expect.stringMatching(/kb_prefix.*"nowhere".*general, films/) });
    expect(heard).toEqual(["invalid_request"]);
    expect(opened.server.seen).toHaveLength(0);
    expect((await talk.stored()).map(({ role }) => role)).toEqual(["user"]);
    expect(await talk.isFree()).toBe(true);
  });

  test("hides the words of a catalog's error, and leaves the conversation free", async () => {
    const failure = new Error("secret words of the catalog");
    const talk = opened.makeTalk(opened.makeGraph({ knowledge: { list: () => Promise.reject(failure) } }));
    const causes: unknown[] = [];
    const last = await talk.start("Hello?", { onError: ({ cause }) => causes.push(cause) }).ended;
    expect(last).toMatchObject({ status: "error", content: { code: "internal_error" } });
    expect(JSON.stringify(last)).not.toContain("secret");
    expect(causes).toEqual([failure]);
    expect(opened.server.seen).toHaveLength(0);
    expect(await talk.isFree()).toBe(true);
  });

  test("gives with debug one execution log for every node, in the state and as events, and no message text", async () => {
    const { input } = opened.makeTalk();
    const graph = opened.makeGraph();
    const state = await graph.invoke({ ...input, message: "my private words", debug: true });
    expect(state.executionLogs.map(({ node }) => node).sort()).toEqual(NODES);
    expect(state.executionLogs.every(({ ms }) => ms >= 0)).toBe(true);
    expect(JSON.stringify(state.executionLogs)).not.toMatch(/private|there/);
    const events = await eventsOf(startTurn(graph, { ...input, message: "again", debug: true }));
    expect(events.flatMap((event) => (event.status === "execution_log" ? [event.content.node] : [])).sort()).toEqual(NODES);
  });

  describe("without a turn around it, as Studio and other programs run it", () => {
    test("gives on invoke the whole state, without logs but with the milliseconds of every node, and stores the turn", async () => {
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
        executionLogs: [],
      });
      expect(Object.keys(state.timings).sort()).toEqual(NODES);
      expect(state.messages.map((message) => [message.type, message.text])).toEqual([
        ["human", "Which film?"],
        ["ai", "Hi there."],
      ]);
      expect((await talk.stored()).map(({ id }) => id)).toEqual([state.currentMessageId, state.answerMessageId]);
      expect(await talk.isFree()).toBe(true);
    });

    test("gives on stream the events of the nodes on LangGraph's custom stream", async () => {
      const { input } = opened.makeTalk();
      const statuses: string[] = [];
      for await (const event of await opened.makeGraph().stream({ ...input, message: "Hello!" }, { streamMode: "custom" }))
        statuses.push((event as { status: string }).status);
      expect(statuses.toSorted()).toEqual(["accepted", "route_decision", "token", "token"]);
    });

    test("does not take messages that the caller hands in for history", async () => {
      const { input } = opened.makeTalk();
      await opened.makeGraph().invoke({ ...input, message: "Hello!", messages: [new HumanMessage("injected")] });
      expect(opened.server.seen[0]?.body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
      expect(JSON.stringify(opened.server.seen[0]?.body)).not.toContain("injected");
    });
  });

  describe("when a turn is refused while it is being routed", () => {
    const ROUTER = "test-router";
    const askedOfRouter = (): SeenRequest | undefined => opened.server.seen.find(({ body }) => body.model === ROUTER);

    /** A turn on a busy conversation. Route gets the bases when `listed` settles, history begins when `begun` does. */
    async function startOnBusy(until: { listed: () => Promise<unknown>; begun: () => Promise<unknown> }) {
      const talk = opened.makeTalk();
      const running = await talk.hang();
      opened.server.answer({ tokens: [], ending: "hang" });
      const routed = Promise.withResolvers<void>();
      const observer: Observer = {
        ...NOOP_OBSERVER,
        async watch(work, run) {
          try {
            return await run(() => undefined);
          } finally {
            if (work.work === "node" && work.name === "route") routed.resolve();
          }
        },
      };
      const graph = opened.makeGraph({
        database: beginningAfter(until.begun),
        observer,
        knowledge: { list: () => until.listed().then(() => TWO_BASES) },
        routing: { routerModel: createOpenAIChatModel({ model: ROUTER, baseUrl: opened.server.url }), timeoutMs: 60_000 },
      });
      const heard: string[] = [];
      const message = "May I sit in the front part of the plane to Tokyo?";
      const turn = startTurn(graph, { ...talk.input, message, debug: true }, { onError: ({ code }) => heard.push(code) });
      void turn.ended.then(() => running.cancel());
      return { turn, routed: routed.promise, heard };
    }

    async function expectRefusalAlone(refused: { turn: RunningTurn; routed: Promise<void>; heard: string[] }): Promise<void> {
      await refused.routed;
      await new Promise(setImmediate); // what the node reports when it has ended
      const events = await eventsOf(refused.turn);
      expect(events.filter(({ status }) => status !== "execution_log")).toEqual([events.at(-1)]);
      expect(events.at(-1)).toMatchObject({ status: "error", content: { code: "conversation_busy" } });
      expect(refused.heard).toEqual(["conversation_busy"]);
    }

    test("closes its call to the router model, and says nothing after the error", async () => {
      const begun = () => waitUntil("the router model is asked", askedOfRouter);
      const refused = await startOnBusy({ listed: async () => undefined, begun });
      await refused.turn.ended;
      await waitUntil("the router model's connection to close", () => askedOfRouter()?.aborted);
      await expectRefusalAlone(refused);
    });

    test("asks no model any more, and says nothing after the error", async () => {
      const over = Promise.withResolvers<void>();
      const refused = await startOnBusy({ listed: () => over.promise, begun: async () => undefined });
      await refused.turn.ended;
      over.resolve();
      await expectRefusalAlone(refused);
      expect(askedOfRouter()).toBeUndefined();
    });
  });
});
