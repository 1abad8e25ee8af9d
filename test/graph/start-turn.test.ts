import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { startTurn } from "../../graph/start-turn.ts";
import type { ModelScript } from "../servers/model-server.ts";
import { eventsOf, useGraphWithModel } from "../support/services/graph-with-model.ts";
import { waitUntil } from "../support/wait-until.ts";

const USAGE = { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false };

describe("startTurn", () => {
  const opened = useGraphWithModel();

  test("gives the route, then each token, then done with all that was said and stored", async () => {
    const talk = opened.makeTalk();
    const turn = talk.start("Hello!");
    const events = await eventsOf(turn);
    expect(events.map(({ status }) => status)).toEqual(["route_decision", "token", "token", "done"]);
    expect(events.at(-1)).toEqual(await turn.ended);
    const [, answer] = await talk.stored();
    expect(events.at(-1)?.content).toMatchObject({
      answer: "Hi there.",
      conversation_id: (await turn.accepted).conversationId,
      message_id: answer?.id,
      completed: true,
      usage: USAGE,
      receipt: { summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [], prompt_tokens: expect.any(Object) },
      degraded: [],
    });
    const metadata = { worker_name: "general:hybrid_agent", usage: USAGE };
    expect(answer).toMatchObject({ content: "Hi there.", completed: true, metadata });
  });

  test("reports what a turn has used, and nothing for a turn whose model was not asked", async () => {
    const used: unknown[] = [];
    const onUsage = (usage: unknown): void => void used.push(usage);
    const { input } = opened.makeTalk();
    const graph = opened.makeGraph();
    await startTurn(graph, { ...input, message: "Hello!" }, { onUsage }).ended;
    const last = await startTurn(graph, { ...input, message: "Hello!", requestedKbPrefix: "nowhere" }, { onUsage }).ended;
    expect(last).toMatchObject({ status: "error", content: { code: "invalid_request" } });
    expect(used).toEqual([{ ...USAGE, cached_tokens: null, context_limit: 7_372, usage_ratio: 0.0136 }]);
  });

  test("marks a usage that nobody counted as estimated", async () => {
    opened.server.answer({ tokens: ["Hi."], withoutUsage: true });
    const last = await opened.makeTalk().say("Hello?");
    if (last.status !== "done") throw new Error(JSON.stringify(last));
    const { prompt_tokens, completion_tokens, total_tokens, estimated } = last.content.usage;
    expect({ completion_tokens, estimated }).toEqual({ completion_tokens: 1, estimated: true });
    expect(prompt_tokens).toBeGreaterThan(40);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  });

  test("measures the whole turn, its first token and every node", async () => {
    const last = await opened.makeTalk().say("Hello!");
    if (last.status !== "done") throw new Error(JSON.stringify(last));
    const { total_ms, first_token_ms, nodes, started } = last.content.timings;
    expect(first_token_ms).toBeGreaterThan(0);
    expect(total_ms).toBeGreaterThanOrEqual(first_token_ms ?? Infinity);
    expect(Object.keys(nodes).sort()).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    expect(Object.keys(started).sort()).toEqual(Object.keys(nodes).sort());
    const ends = Object.entries(started).map(([name, began]) => began + (nodes[name] ?? 0));
    expect(Math.max(...ends)).toBeLessThanOrEqual(total_ms + 0.05); // each is rounded to a hundredth
    expect(started["retrieve"]).toBeGreaterThanOrEqual((started["history"] ?? 0) + (nodes["history"] ?? 0) - 0.05);
  });

  test("says done only after everything is stored and the conversation is free", async () => {
    const talk = opened.makeTalk();
    for await (const event of talk.start("Hello!").events()) {
      if (event.status !== "done") continue;
      expect(await talk.isFree()).toBe(true);
      expect((await talk.stored()).slice(0, 2).map(({ content }) => content)).toEqual(["Hello!", "Hi there."]);
    }
    expect.assertions(2);
  });

  test("accepts a turn once its message is stored, while the model is still silent", async () => {
    opened.server.answer({ tokens: [], ending: "hang" });
    const talk = opened.makeTalk();
    const turn = talk.start("Hello!");
    const { messageId } = await turn.accepted;
    expect((await talk.stored()).map(({ id, content }) => [id, content])).toEqual([[messageId, "Hello!"]]);
    turn.cancel();
    expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
  });

  test("uses the turn id that it is given, or makes one", async () => {
    const talk = opened.makeTalk();
    const turnId = crypto.randomUUID();
    const given = talk.start("Hello!", { turnId });
    await given.ended;
    const made = talk.start("Hello again!");
    await made.ended;
    expect(given.turnId).toBe(turnId);
    expect((await talk.stored()).map(({ metadata }) => metadata["turn_id"])).toEqual([turnId, turnId, made.turnId, made.turnId]);
  });

  test("keeps apart turns of different sessions that run at the same time", async () => {
    opened.server.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content ?? ""], betweenMs: 20 }));
    const graph = opened.makeGraph();
    const messages = ["one", "two", "three", "four", "five"];
    const lasts = await Promise.all(messages.map((message) => opened.makeTalk(graph).say(message)));
    expect(lasts.map(({ content }) => "answer" in content && content.answer)).toEqual(messages.map((message) => `re: ${message}`));
  });

  test.each<[string, ModelScript, object, [string, boolean][]]>([
    ["no answer when there was none", { status: 401 }, { code: "model_unauthorized" }, []],
    [
      "what was said as incomplete when the answer broke off",
      { tokens: ["half ", "an "], ending: "cut" },
      { code: "model_interrupted", retryable: true },
      [["half an ", false]],
    ],
    [
      "half a surrogate pair, as a cut can leave it, as the replacement character",
      { tokens: ["face \uD83D"] },
      {},
      [["face \uFFFD", true]],
    ],
  ])("stores the question and %s, and releases the conversation", async (_what, script, content, answers) => {
    const talk = opened.makeTalk();
    opened.server.answer(script);
    expect(await talk.say("Hello?")).toMatchObject({ content });
    const stored = (await talk.stored()).map((message) => [message.role, message.content, message.completed]);
    expect(stored).toEqual([["user", "Hello?", true], ...answers.map((answer) => ["assistant", ...answer])]);
    expect(await talk.isFree()).toBe(true);
  });

  describe("when its turn is cancelled", () => {
    test("stops the model at once, keeps what was said as incomplete, and frees the conversation", async () => {
      const talk = opened.makeTalk();
      const turn = await talk.hang();
      turn.cancel();
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled", retryable: true } });
      await waitUntil("the model's connection to close", () => opened.server.seen[0]?.aborted);
      expect((await talk.stored()).map(({ content, completed }) => [content, completed])).toEqual([
        ["Hello!", true],
        ["half ", false],
      ]);
      expect(await talk.isFree()).toBe(true);
    });

    test("ends the turn with the reason it was given, and changes nothing after the end", async () => {
      const turn = await opened.makeTalk().hang();
      turn.cancel(new AppError("shutting_down", "come back later"));
      const last = await turn.ended;
      expect(last).toEqual({ status: "error", content: { code: "shutting_down", message: "come back later", retryable: true } });
      turn.cancel();
      expect(await turn.ended).toBe(last);
      expect((await eventsOf(turn)).at(-1)).toBe(last);
    });
  });

  describe("on a busy conversation", () => {
    test("refuses the turn: accepted rejects, nothing is stored, and the error is the only end", async () => {
      const talk = opened.makeTalk();
      const running = await talk.hang();
      const refused = talk.start("And this?");
      await expect(refused.accepted).rejects.toMatchObject({ code: "conversation_busy" });
      const events = await eventsOf(refused);
      expect(events.filter(({ status }) => status === "done" || status === "error")).toEqual([events.at(-1)]);
      expect(events.at(-1)).toMatchObject({ status: "error", content: { code: "conversation_busy", retryable: true } });
      running.cancel();
      await running.ended;
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["Hello!", "half "]);
    });

    test("lets turns wait in line when told to, answers them as they came, and stores nothing of a cancelled one", async () => {
      const talk = opened.makeTalk();
      const running = await talk.hang("first");
      opened.server.answer((body) => ({ tokens: [`re: ${body.messages.at(-1)?.content}`] }));
      const [second, gone, third] = ["second", "gone", "third"].map((message) => talk.start(message, { onBusy: "enqueue" }));
      gone?.cancel();
      await expect(gone?.accepted).rejects.toMatchObject({ code: "turn_cancelled" });
      expect(await gone?.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
      running.cancel();
      for (const turn of [second, third]) expect(await turn?.ended).toMatchObject({ status: "done" });
      const stored = await talk.stored();
      expect(stored.map(({ content }) => content)).toEqual(["first", "half ", "second", "re: second", "third", "re: third"]);
    });
  });
});
