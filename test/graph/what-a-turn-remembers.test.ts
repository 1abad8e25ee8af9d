import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startTurn } from "../../graph/start-turn.ts";
import { openGraphWithModel, type GraphWithModel } from "../support/services/graph-with-model.ts";

describe("what a turn remembers", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel();
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer((body) => ({ tokens: [`re: ${body.messages.at(-1)?.content}`] }));
    opened.server.seen.splice(0);
  });

  /** The prompt of the last request to the model, without its system text. */
  function lastPrompt(): { role: string; content: string }[] {
    const messages = opened.server.seen.at(-1)?.body.messages ?? [];
    expect(messages[0]?.role).toBe("system");
    return messages.slice(1);
  }

  describe("the prompt", () => {
    test("has the messages of the session so far, then the current one, once", async () => {
      const talk = opened.makeTalk();
      await talk.say("My cat is called Tom.");
      await talk.say("And my dog Rex.");
      await talk.say("Who is Tom?");
      expect(lastPrompt()).toEqual([
        { role: "user", content: "My cat is called Tom." },
        { role: "assistant", content: "re: My cat is called Tom." },
        { role: "user", content: "And my dog Rex." },
        { role: "assistant", content: "re: And my dog Rex." },
        { role: "user", content: "Who is Tom?" },
      ]);
    });

    test("keeps an earlier message whose text is that of the current one", async () => {
      const talk = opened.makeTalk();
      await talk.say("Again!");
      await talk.say("Again!");
      expect(lastPrompt()).toEqual([
        { role: "user", content: "Again!" },
        { role: "assistant", content: "re: Again!" },
        { role: "user", content: "Again!" },
      ]);
    });

    test.each([true, false])("has no incomplete answer, yet the question that led to it, with debug %p", async (debug) => {
      const { input } = opened.makeTalk();
      const graph = opened.makeGraph();
      opened.server.answer({ tokens: ["half an ans"], ending: "cut" });
      expect(await startTurn(graph, { ...input, message: "First?", debug }).ended).toMatchObject({ status: "error" });
      opened.server.answer({ tokens: ["Whole."] });
      await startTurn(graph, { ...input, message: "Second?", debug }).ended;
      expect(lastPrompt()).toEqual([
        { role: "user", content: "First?" },
        { role: "user", content: "Second?" },
      ]);
    });

    test.each([0, 2, 6])(
      "has every earlier message, also those before a window of %i, while no summary covers them",
      async (historyWindow) => {
        const talk = opened.makeTalk(opened.makeGraph({ historyWindow }));
        for (const message of ["one", "two", "three", "four"]) await talk.say(message);
        expect(lastPrompt().map(({ content }) => content)).toEqual(["one", "re: one", "two", "re: two", "three", "re: three", "four"]);
      },
    );

    test("has nothing of another session, user or tenant", async () => {
      const graph = opened.makeGraph();
      const talk = opened.makeTalk(graph);
      await talk.say("My secret is 42.");
      for (const fields of [{ sessionId: "other" }, { userId: "other" }, { tenantId: "other" }]) {
        await startTurn(graph, { ...talk.input, ...fields, message: "What is my secret?" }).ended;
        expect(lastPrompt()).toEqual([{ role: "user", content: "What is my secret?" }]);
      }
    });

    test("begins as the one before while nothing drops out of the window, so that the model's server can reuse it", async () => {
      const talk = opened.makeTalk();
      for (const message of ["one", "two", "three"]) await talk.say(message);
      const prompts = opened.server.seen.map(({ body }) => body.messages);
      expect(prompts[1]?.slice(0, prompts[0]?.length)).toEqual(prompts[0]);
      expect(prompts[2]?.slice(0, prompts[1]?.length)).toEqual(prompts[1]);
    });
  });

  describe("persist", () => {
    test("runs when the model gave nothing: the question is kept, no answer is made up, the conversation is free", async () => {
      const talk = opened.makeTalk();
      opened.server.answer({ status: 401 });
      expect(await talk.say("Hello?")).toMatchObject({ status: "error", content: { code: "model_refused" } });
      expect((await talk.stored()).map(({ role, content }) => [role, content])).toEqual([["user", "Hello?"]]);
      expect(await talk.isFree()).toBe(true);
    });

    test("runs when the answer broke off: what was said is kept as incomplete, and the conversation is free", async () => {
      const talk = opened.makeTalk();
      opened.server.answer({ tokens: ["half ", "an "], ending: "cut" });
      expect(await talk.say("Hello?")).toMatchObject({ status: "error", content: { code: "model_interrupted", retryable: true } });
      const [question, answer] = await talk.stored();
      expect(question).toMatchObject({ role: "user", completed: true });
      expect(answer).toMatchObject({ role: "assistant", content: "half an ", completed: false });
      expect(await talk.isFree()).toBe(true);
    });

    test("stores a complete answer with its usage and worker", async () => {
      const talk = opened.makeTalk();
      const last = await talk.say("Hello?");
      const [, answer] = await talk.stored();
      const usage = { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101, estimated: false };
      expect(last).toMatchObject({ status: "done", content: { message_id: answer?.id, completed: true, usage } });
      expect(answer).toMatchObject({
        content: "re: Hello?",
        completed: true,
        metadata: { worker_name: "general:hybrid_agent", usage },
      });
    });

    test("marks a usage that nobody counted as estimated", async () => {
      const talk = opened.makeTalk();
      opened.server.answer({ tokens: ["Hi."], withoutUsage: true });
      const last = await talk.say("Hello?");
      if (last.status !== "done") throw new Error(JSON.stringify(last));
      const { prompt_tokens, completion_tokens, total_tokens, estimated } = last.content.usage;
      expect(estimated).toBe(true);
      expect(prompt_tokens).toBeGreaterThan(40);
      expect(completion_tokens).toBe(1);
      expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    });

    test("stores half a surrogate pair, as a cut can leave it, as the replacement character", async () => {
      const talk = opened.makeTalk();
      opened.server.answer({ tokens: ["face \uD83D"] });
      await talk.say("Hello?");
      expect((await talk.stored())[1]?.content).toBe("face \uFFFD");
    });
  });
});
