import { HumanMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { streamAnswer, type AnswerRequest, type ModelAnswer } from "../../models/stream-answer.ts";
import { startModelServer, type ModelScript, type ModelServer } from "../servers/model-server.ts";
import { freePort } from "../servers/postgres-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const PATIENT = { firstTokenMs: 20_000, idleMs: 20_000 };

describe("streamAnswer over a socket", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.close());
  beforeEach(() => void server.seen.splice(0));

  async function ask(fields: Partial<AnswerRequest> = {}, url = server.url): Promise<ModelAnswer & { tokens: string[] }> {
    const tokens: string[] = [];
    const answer = await streamAnswer({
      model: createOpenAIChatModel({ model: "test-chat", baseUrl: url }),
      prompt: [new HumanMessage("Hello!")],
      timeouts: PATIENT,
      onToken: (token) => tokens.push(token),
      ...fields,
    });
    return { ...answer, tokens };
  }

  /** Answers the first request, the second, … each with its own script; the last one for all that follow. */
  function answerInTurn(...scripts: ModelScript[]): void {
    let count = 0;
    server.answer(() => scripts[Math.min(count++, scripts.length - 1)] ?? {});
  }

  describe("when the model answers", () => {
    test("hands on each token as it comes, and all of them as the text", async () => {
      server.answer({ tokens: ["Hel", "lo ", "世", "界", "😀"] });
      expect(await ask()).toMatchObject({ tokens: ["Hel", "lo ", "世", "界", "😀"], text: "Hello 世界😀", error: null });
    });

    test("sends the model's name and the prompt, and asks for a stream with usage", async () => {
      server.answer({ tokens: ["yes"] });
      await ask();
      expect(server.seen.map(({ body }) => body)).toEqual([
        expect.objectContaining({
          model: "test-chat",
          messages: [{ role: "user", content: "Hello!" }],
          stream: true,
          stream_options: { include_usage: true },
        }),
      ]);
    });

    test("does not wait for the end before the first token is handed on", async () => {
      server.answer({ tokens: ["first", "last"], betweenMs: 1_000 });
      let beforeTheEnd = "";
      const asked = ask({ onToken: (token) => (beforeTheEnd += token) });
      await waitUntil("the first token", () => beforeTheEnd !== "");
      expect(beforeTheEnd).toBe("first");
      expect((await asked).text).toBe("firstlast");
    });

    test("gives the usage that the server counted", async () => {
      server.answer({ tokens: ["one", "two"] });
      expect((await ask()).usage).toMatchObject({ input_tokens: 100, output_tokens: 2, total_tokens: 102 });
    });

    test("gives no usage when the server counted none", async () => {
      server.answer({ withoutUsage: true });
      expect(await ask()).toMatchObject({ usage: undefined, error: null });
    });

    test("replaces NUL, which Postgres cannot store, in the tokens and in the text alike", async () => {
      server.answer({ tokens: ["a\0b", "\0"] });
      expect(await ask()).toMatchObject({ tokens: ["a\uFFFDb", "\uFFFD"], text: "a\uFFFDb\uFFFD", error: null });
    });
  });

  describe("when the model is silent", () => {
    test.each<[string, ModelScript]>([
      ["says nothing at all", { firstTokenMs: 1_000 }],
      ["begins an answer without a word", { tokens: [], ending: "hang" }],
    ])("gives up after the first-token timeout on one that %s, and does not ask again", async (_name, script) => {
      server.answer(script);
      const answer = await ask({ timeouts: { ...PATIENT, firstTokenMs: 150 } });
      expect(answer).toMatchObject({ text: "", error: { code: "model_first_token_timeout" } });
      await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
      expect(server.seen).toHaveLength(1);
    });

    test("gives up after the idle timeout on one that stops, and keeps what was said", async () => {
      server.answer({ tokens: ["half ", "an "], ending: "hang" });
      const answer = await ask({ timeouts: { ...PATIENT, idleMs: 150 } });
      expect(answer).toMatchObject({ text: "half an ", tokens: ["half ", "an "], error: { code: "model_stalled" } });
      await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
      expect(server.seen).toHaveLength(1);
    });

    test("waits for a slow one whose tokens keep coming", async () => {
      server.answer({ tokens: Array.from({ length: 10 }, () => "slow "), betweenMs: 150 });
      expect(await ask({ timeouts: { firstTokenMs: 20_000, idleMs: 1_200 } })).toMatchObject({ text: "slow ".repeat(10), error: null });
    });
  });

  describe("when the answer breaks", () => {
    const tokens = ["half ", "an "];
    test.each<[string, ModelScript, string]>([
      ["a connection that is cut", { tokens, ending: "cut" }, "model_interrupted"],
      ["an end without a finish reason", { tokens, ending: "end" }, "model_incomplete"],
      ["a frame that is no JSON", { tokens, malformed: true }, "model_bad_response"],
    ])("keeps what was said before %s, and does not ask again", async (_name, script, code) => {
      server.answer(script);
      expect(await ask()).toMatchObject({ text: "half an ", tokens, error: { code, retryable: true } });
      expect(server.seen).toHaveLength(1);
    });
  });

  describe("when nothing was said yet", () => {
    test.each<[string, ModelScript]>([
      ["status 500", { status: 500 }],
      ["status 503", { status: 503 }],
      ["a cut connection", { tokens: [], ending: "cut" }],
      ["an end without a finish reason", { tokens: [], ending: "end" }],
      ["an answer of no words", { tokens: [], ending: "stop" }],
    ])("asks once more after %s, and then gives that answer", async (_name, script) => {
      answerInTurn(script, { tokens: ["second ", "try"] });
      expect(await ask()).toMatchObject({ text: "second try", tokens: ["second ", "try"], error: null });
      expect(server.seen).toHaveLength(2);
    });

    test.each<[string, ModelScript, string]>([
      ["status 500", { status: 500 }, "model_unavailable"],
      ["an end without a finish reason", { tokens: [], ending: "end" }, "model_incomplete"],
      ["an answer of no words", { tokens: [], ending: "stop" }, "model_incomplete"],
    ])("gives up when %s comes twice", async (_name, script, code) => {
      server.answer(script);
      expect(await ask()).toMatchObject({ text: "", tokens: [], error: { code } });
      expect(server.seen).toHaveLength(2);
    });

    test.each([
      [429, "model_rate_limited"],
      [400, "model_refused"],
      [401, "model_refused"],
      [404, "model_refused"],
    ])("does not ask again after status %p", async (status, code) => {
      server.answer({ status });
      const { error } = await ask();
      expect(error).toMatchObject({ code });
      expect(error?.message).not.toContain("secret words");
      expect(server.seen).toHaveLength(1);
    });

    test("says that the server cannot be reached when nothing listens there", async () => {
      const { error } = await ask({}, `http://127.0.0.1:${await freePort()}/v1`);
      expect(error).toMatchObject({ code: "model_unavailable", retryable: true });
      expect(error?.message).toContain("OPENAI_BASE_URL");
    });
  });

  describe("when the caller cancels", () => {
    const reason = new AppError("turn_cancelled", "stopped");

    test("closes the model's connection at once and keeps what was said", async () => {
      server.answer({ tokens: ["half ", "an "], ending: "hang" });
      const cancellation = new AbortController();
      const said: string[] = [];
      const asked = ask({ signal: cancellation.signal, onToken: (token) => said.push(token) });
      await waitUntil("two tokens", () => said.length === 2);
      const cancelledAt = performance.now();
      cancellation.abort(reason);
      expect(await asked).toMatchObject({ text: "half an ", error: reason });
      await waitUntil("the connection to close", () => server.seen[0]?.aborted);
      expect(performance.now() - cancelledAt).toBeLessThan(2_000);
      expect(server.seen).toHaveLength(1);
    });

    test("asks nothing of the model when it was cancelled before", async () => {
      expect(await ask({ signal: AbortSignal.abort(reason) })).toMatchObject({ text: "", error: reason });
      expect(server.seen).toHaveLength(0);
    });

    test("does not ask again when it is cancelled during the pause before the second try", async () => {
      const cancellation = new AbortController();
      server.answer(() => {
        setTimeout(() => cancellation.abort(reason), 100); // the pause is of 250 ms
        return { status: 500 };
      });
      expect((await ask({ signal: cancellation.signal })).error).toBe(reason);
      expect(server.seen).toHaveLength(1);
    });
  });
});
