import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { streamAnswer, type AnswerRequest, type ModelAnswer } from "../../models/stream-answer.ts";
import { NOOP_OBSERVER } from "../../observe/observer.ts";
import type { ModelScript } from "../servers/model-server.ts";
import { freePort } from "../servers/free-port.ts";
import { PATIENT, useModelServer } from "../support/services/use-model-server.ts";
import { modelAt } from "../support/services/model-at.ts";
import { waitUntil } from "../support/wait-until.ts";

const server = useModelServer();
const PROMPT = [new HumanMessage("Hello!")];
const REQUEST = { prompt: PROMPT, timeouts: PATIENT, onToken: () => undefined };
const reason = new AppError("turn_cancelled", "stopped");
const closed = () => waitUntil("the connection to close", () => server.seen.length > 0 && server.seen.every(({ aborted }) => aborted));
const looping = Array.from({ length: 600 }, () => "amigos de nós ");
const half = ["half ", "an "];

describe("streamAnswer over a socket", () => {
  async function ask(fields: Partial<AnswerRequest> = {}): Promise<ModelAnswer & { tokens: string[] }> {
    const tokens: string[] = [];
    const answer = await streamAnswer({
      model: modelAt(server.url),
      prompt: PROMPT,
      timeouts: PATIENT,
      onToken: (token) => tokens.push(token),
      ...fields,
    });
    return { ...answer, tokens };
  }

  describe("when the model answers", () => {
    test("hands on each token as it comes, and all of them as the text, with the usage that the server counted", async () => {
      const tokens = ["Hel", "lo ", "世", "界", "😀"];
      server.answer({ tokens });
      const usage = { input_tokens: 100, output_tokens: 5, total_tokens: 105 };
      expect(await ask()).toMatchObject({ tokens, text: "Hello 世界😀", usage, error: null });
      const messages = [{ role: "user", content: "Hello!" }];
      expect(server.seen.map(({ body }) => body)).toMatchObject([
        { model: "test-chat", messages, stream: true, stream_options: { include_usage: true } },
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

    test("gives no usage when the server counted none, and replaces NUL, which Postgres cannot store", async () => {
      server.answer({ tokens: ["a\0b", "\0"], withoutUsage: true });
      expect(await ask()).toEqual({
        tokens: ["a\uFFFDb", "\uFFFD"],
        text: "a\uFFFDb\uFFFD",
        toolCalls: [],
        usage: undefined,
        error: null,
        cut: null,
      });
    });
  });

  describe("when the model is silent", () => {
    test.each<[string, ModelScript]>([
      ["says nothing at all", { firstTokenMs: 3_000 }],
      ["begins an answer without a word", { tokens: [], ending: "hang" }],
    ])("gives up after the first-token timeout on one that %s, and does not ask again", async (_name, script) => {
      server.answer(script);
      const answer = await ask({ timeouts: { ...PATIENT, firstTokenMs: 400 } });
      expect(answer).toMatchObject({ text: "", error: { code: "model_first_token_timeout" } });
      await closed();
      expect(server.seen).toHaveLength(1);
    });

    test("gives up after the idle timeout on one that stops, and keeps what was said", async () => {
      server.answer({ tokens: half, ending: "hang" });
      const answer = await ask({ timeouts: { ...PATIENT, idleMs: 400 } });
      expect(answer).toMatchObject({ text: "half an ", tokens: half, error: { code: "model_stalled" } });
      await closed();
      expect(server.seen).toHaveLength(1);
    });

    test("waits for a slow one whose tokens keep coming", async () => {
      server.answer({ tokens: Array.from({ length: 10 }, () => "slow "), betweenMs: 150 });
      expect(await ask({ timeouts: { firstTokenMs: 20_000, idleMs: 1_200 } })).toMatchObject({ text: "slow ".repeat(10), error: null });
    });
  });

  test.each<[string, ModelScript, string]>([
    ["a connection that is cut", { ending: "cut" }, "model_interrupted"],
    ["an end without a finish reason", { ending: "end" }, "model_incomplete"],
    ["a frame that is no JSON", { malformed: true }, "model_bad_response"],
  ])("keeps what was said before %s, and does not ask again", async (_name, script, code) => {
    server.answer({ tokens: half, ...script });
    expect(await ask()).toMatchObject({ text: "half an ", tokens: half, error: { code, retryable: true } });
    expect(server.seen).toHaveLength(1);
  });

  describe("when nothing was said yet", () => {
    test.each<[string, ModelScript, string]>([
      ["status 503", { status: 503 }, "model_unavailable"],
      ["a cut connection", { tokens: [], ending: "cut" }, "model_unavailable"],
      ["an end without a finish reason", { tokens: [], ending: "end" }, "model_incomplete"],
      ["an answer of no words", { tokens: [], ending: "stop" }, "model_incomplete"],
    ])("asks once more after %s, and gives up when it comes twice", async (_name, script, code) => {
      server.answerInTurn(script, { tokens: ["second ", "try"] });
      expect(await ask()).toMatchObject({ text: "second try", tokens: ["second ", "try"], error: null });
      expect(server.seen.splice(0)).toHaveLength(2);
      server.answer(script);
      expect(await ask()).toMatchObject({ text: "", tokens: [], error: { code } });
      expect(server.seen).toHaveLength(2);
    });

    test("does not ask again when the key is refused", async () => {
      server.answer({ status: 401 });
      const { error } = await ask();
      expect(error).toMatchObject({ code: "model_unauthorized" });
      expect(error?.message).not.toContain("secret words");
      expect(server.seen).toHaveLength(1);
    });

    test("asks again after the time that the server names", async () => {
      server.answerInTurn({ status: 429, headers: { "retry-after": "1" } }, { tokens: ["second ", "try"] });
      const began = performance.now();
      expect(await ask()).toMatchObject({ text: "second try", error: null });
      expect(performance.now() - began).toBeGreaterThan(950);
    });

    test.each([
      ["longer than 20 seconds", "21", PATIENT],
      ["longer than the first token may take", "3", { ...PATIENT, firstTokenMs: 2_000 }],
      ["a date that is too far", new Date(Date.now() + 60_000).toUTCString(), PATIENT],
    ])("does not ask again when the server names a time that is %s, and hands it on", async (_name, after, timeouts) => {
      server.answer({ status: 529, headers: { "retry-after": after } });
      const { error } = await ask({ timeouts });
      expect(error).toMatchObject({ code: "model_unavailable", retryable: true, retryAfterSeconds: expect.any(Number) as unknown });
      expect(error?.retryAfterSeconds).toBeGreaterThanOrEqual(3);
      expect(server.seen).toHaveLength(1);
    });

    test("waits only shortly while another model can answer", async () => {
      server.answer({ status: 503, headers: { "retry-after": "2" } });
      expect((await ask({ patience: "short" })).error).toMatchObject({ code: "model_unavailable", retryAfterSeconds: 2 });
      expect(server.seen).toHaveLength(1);
    });

    test("says that the server cannot be reached when nothing listens there", async () => {
      const { error } = await ask({ model: modelAt(`http://127.0.0.1:${await freePort()}/v1`) });
      expect(error).toMatchObject({ code: "model_unavailable", retryable: true });
      expect(error?.message).toContain("OPENAI_BASE_URL");
    });
  });

  describe("when the caller cancels", () => {
    test("closes the model's connection at once and keeps what was said", async () => {
      server.answer({ tokens: half, ending: "hang" });
      const cancellation = new AbortController();
      const said: string[] = [];
      const asked = ask({ signal: cancellation.signal, onToken: (token) => said.push(token) });
      await waitUntil("two tokens", () => said.length === 2);
      cancellation.abort(reason);
      expect(await asked).toMatchObject({ text: "half an ", error: reason });
      await closed();
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

test.each<[string, ModelScript, RegExp]>([
  ["before its first word", { tokens: [], ending: "length" }, /before its first word/],
  [
    "in the middle of a call",
    { toolCalls: [{ name: "todo_write", arguments: { items: [] } }], ending: "length" },
    /in the middle of its call of "todo_write"/,
  ],
])("streamAnswer says that the tokens were used up %s, and does not ask again", async (_where, script, words) => {
  server.answer(script);
  const tools = [{ type: "function" as const, function: { name: "todo_write", parameters: { type: "object", properties: {} } } }];
  const answer = await streamAnswer({ ...REQUEST, tools, model: createOpenAIChatModel({ model: "test-chat", baseUrl: server.url }) });
  expect(answer).toMatchObject({ text: "", toolCalls: [], cut: "length", error: { code: "model_out_of_tokens", retryable: false } });
  expect(answer.error?.message).toMatch(words);
  expect(server.seen).toHaveLength(1);
});

test("streamAnswer stops a summary that loops, as cut, and lets a chat go on", async () => {
  server.answer({ tokens: looping });
  const ask = (purpose: "summary" | "chat") =>
    streamAnswer({ ...REQUEST, watched: { observer: NOOP_OBSERVER, purpose }, model: modelAt(server.url) });
  expect(await ask("summary")).toMatchObject({ cut: "length", error: null, text: expect.stringMatching(/^.{2000,3000}$/) as unknown });
  expect(await ask("chat")).toMatchObject({ cut: null, error: null, text: looping.join("") });
});
