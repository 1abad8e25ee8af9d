import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { startTurn, type RunningTurn } from "../../graph/start-turn.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { openGraphWithModel, type GraphWithModel, type Talk } from "../support/services/graph-with-model.ts";
import { waitUntil } from "../support/wait-until.ts";

describe("startTurn", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel();
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer({ tokens: ["Hi ", "there."] });
    opened.server.seen.splice(0);
  });

  async function collect(turn: RunningTurn): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of turn.events()) events.push(event);
    return events;
  }

  /** A turn whose model has said "half " and then falls silent. */
  async function startHangingTurn(talk: Talk, message = "Hello!"): Promise<RunningTurn> {
    opened.server.answer({ tokens: ["half "], ending: "hang" });
    const turn = talk.start(message);
    for await (const event of turn.events()) if (event.status === "token") return turn;
    throw new Error("the turn ended without a token");
  }

  test("tells the route, then each token, then done with all that was said", async () => {
    const turn = opened.makeTalk().start("Hello!");
    const events = await collect(turn);
    expect(events.map(({ status }) => status)).toEqual(["route_decision", "token", "token", "done"]);
    expect(events.at(-1)).toEqual(await turn.ended);
    expect(events.at(-1)?.content).toMatchObject({
      answer: "Hi there.",
      conversation_id: (await turn.accepted).conversationId,
      completed: true,
      usage: { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false },
      receipt: { summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [], prompt_tokens: expect.any(Object) },
      degraded: [],
    });
  });

  test("tells what a turn has used, and nothing of one whose model was not asked", async () => {
    const used: unknown[] = [];
    const onUsage = (usage: unknown): void => void used.push(usage);
    const { input } = opened.makeTalk();
    const graph = opened.makeGraph();
    await startTurn(graph, { ...input, message: "Hello!" }, { onUsage }).ended;
    const last = await startTurn(graph, { ...input, message: "Hello!", requestedKbPrefix: "nowhere" }, { onUsage }).ended;
    expect(last).toMatchObject({ status: "error", content: { code: "invalid_request" } });
    expect(used).toEqual([{ prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false }]);
  });

  test("times the whole, the first token and every node", async () => {
    const last = await opened.makeTalk().say("Hello!");
    if (last.status !== "done") throw new Error(JSON.stringify(last));
    const { total_ms, first_token_ms, nodes, started } = last.content.timings;
    expect(first_token_ms).toBeGreaterThan(0);
    expect(total_ms).toBeGreaterThanOrEqual(first_token_ms ?? Infinity);
    expect(Object.keys(nodes).sort()).toEqual(["core_memory", "generate_rag", "history", "persist", "retrieve", "route"]);
    expect(Object.keys(started).sort()).toEqual(Object.keys(nodes).sort());
    const ends = Object.entries(started).map(([name, began]) => began + (nodes[name] ?? 0));
    expect(Math.max(...ends)).toBeLessThanOrEqual(total_ms + 0.05); // each is rounded to a hundredth
    expect(started["retrieve"]).toBeGreaterThanOrEqual((started["history"] ?? 0) + (nodes["history"] ?? 0) - 0.05);
  });

  test("gives every reader every event, early, late or never", async () => {
    const turn = opened.makeTalk().start("Hello!");
    const [one, other] = await Promise.all([collect(turn), collect(turn)]);
    expect(other).toEqual(one);
    expect(await collect(turn)).toEqual(one);
    expect(await opened.makeTalk().say("nobody reads this")).toMatchObject({ status: "done" });
  });

  test("has stored everything and given the conversation back before it says done", async () => {
    const talk = opened.makeTalk();
    for await (const event of talk.start("Hello!").events()) {
      if (event.status !== "done") continue;
      expect(await talk.isFree()).toBe(true);
      expect((await talk.stored()).slice(0, 2).map(({ content }) => content)).toEqual(["Hello!", "Hi there."]);
    }
    expect.assertions(2);
  });

  test("is accepted once the message is stored, while the model is still silent", async () => {
    opened.server.answer({ tokens: [], ending: "hang" });
    const talk = opened.makeTalk();
    const turn = talk.start("Hello!");
    const { messageId } = await turn.accepted;
    expect((await talk.stored()).map(({ id, content }) => [id, content])).toEqual([[messageId, "Hello!"]]);
    turn.cancel();
    expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
  });

  test("uses the turn id it is given, and makes one otherwise", async () => {
    const talk = opened.makeTalk();
    const turnId = crypto.randomUUID();
    const given = talk.start("Hello!", { turnId });
    await given.ended;
    const made = talk.start("Hello again!");
    await made.ended;
    expect(given.turnId).toBe(turnId);
    expect((await talk.stored()).map(({ metadata }) => metadata["turn_id"])).toEqual([turnId, turnId, made.turnId, made.turnId]);
  });

  test("keeps turns of different sessions apart that run at the same time", async () => {
    opened.server.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content ?? ""], betweenMs: 20 }));
    const graph = opened.makeGraph();
    const turns = ["one", "two", "three", "four", "five"].map((message) => opened.makeTalk(graph).start(message));
    const answers = await Promise.all(turns.map(async (turn) => (await turn.ended).content));
    expect(answers.map((content) => "answer" in content && content.answer)).toEqual(
      ["one", "two", "three", "four", "five"].map((message) => `re: ${message}`),
    );
  });

  describe("cancelled", () => {
    test("stops the model at once, keeps what was said as incomplete and gives the conversation back", async () => {
      const talk = opened.makeTalk();
      const turn = await startHangingTurn(talk);
      turn.cancel();
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled", retryable: true } });
      await waitUntil("the model's connection to close", () => opened.server.seen[0]?.aborted);
      expect((await talk.stored()).map(({ content, completed }) => [content, completed])).toEqual([
        ["Hello!", true],
        ["half ", false],
      ]);
      expect(await talk.isFree()).toBe(true);
    });

    test("ends with the reason it was given", async () => {
      const turn = await startHangingTurn(opened.makeTalk());
      turn.cancel(new AppError("shutting_down", "come back later"));
      expect(await turn.ended).toEqual({
        status: "error",
        content: { code: "shutting_down", message: "come back later", retryable: true },
      });
    });

    test("after its end changes nothing", async () => {
      const turn = opened.makeTalk().start("Hello!");
      const last = await turn.ended;
      turn.cancel();
      expect(await turn.ended).toBe(last);
      expect(last.status).toBe("done");
    });
  });

  describe("on a busy conversation", () => {
    test("is refused: accepted rejects, nothing is stored, and the only end is the error", async () => {
      const talk = opened.makeTalk();
      const running = await startHangingTurn(talk);
      const refused = talk.start("And this?");
      await expect(refused.accepted).rejects.toMatchObject({ code: "conversation_busy" });
      const events = await collect(refused);
      expect(events.filter(({ status }) => status === "done" || status === "error")).toEqual([events.at(-1)]);
      expect(events.at(-1)).toMatchObject({ status: "error", content: { code: "conversation_busy", retryable: true } });
      running.cancel();
      await running.ended;
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["Hello!", "half "]);
    });

    test("waits in line when told to, and those in line are answered as they came", async () => {
      const talk = opened.makeTalk();
      const running = await startHangingTurn(talk, "first");
      opened.server.answer((body) => ({ tokens: [`re: ${body.messages.at(-1)?.content}`] }));
      const waiting = ["second", "third"].map((message) => talk.start(message, { onBusy: "enqueue" }));
      running.cancel();
      for (const turn of waiting) expect(await turn.ended).toMatchObject({ status: "done" });
      const stored = await talk.stored();
      expect(stored.map(({ content }) => content)).toEqual(["first", "half ", "second", "re: second", "third", "re: third"]);
    });

    test("can be cancelled while it waits in line, and stores nothing", async () => {
      const talk = opened.makeTalk();
      const running = await startHangingTurn(talk);
      const waiting = talk.start("And this?", { onBusy: "enqueue" });
      waiting.cancel();
      await expect(waiting.accepted).rejects.toMatchObject({ code: "turn_cancelled" });
      expect(await waiting.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
      running.cancel();
      await running.ended;
      expect(await talk.stored()).toHaveLength(2);
    });
  });
});
