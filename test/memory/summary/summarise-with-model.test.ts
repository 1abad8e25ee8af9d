import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeSummariseWithModel } from "../../../memory/summary/summarise-with-model.ts";
import type { AnswerTimeouts } from "../../../models/deadlines.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { startModelServer, type ModelScript, type ModelServer } from "../../servers/model-server.ts";
import { freePort } from "../../servers/postgres-server.ts";
import { waitUntil } from "../../support/wait-until.ts";

const PATIENT: AnswerTimeouts = { firstTokenMs: 20_000, idleMs: 20_000 };
const INPUT = {
  previous: "The user likes green.",
  messages: [{ role: "user" as const, content: "My name is Ada." }],
  coveredMessageCount: 10,
};

describe("summarising with a model over a socket", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.close());
  beforeEach(() => void server.seen.splice(0));

  interface Asked {
    timeouts?: AnswerTimeouts;
    signal?: AbortSignal;
    input?: typeof INPUT;
    stepTokens?: number;
    url?: string;
  }

  function summarise({ timeouts = PATIENT, signal = new AbortController().signal, input = INPUT, stepTokens = 1_000, url }: Asked = {}) {
    const model = createOpenAIChatModel({ model: "test-summary", baseUrl: url ?? server.url });
    return makeSummariseWithModel({ model, timeouts, stepTokens })(input, signal);
  }

  test("gives the text that the model answers, without blanks around it", async () => {
    server.answer({ tokens: ["\n Ada likes ", "green.\n她叫 Ada。", " \n"] });
    expect(await summarise()).toBe("Ada likes green.\n她叫 Ada。");
  });

  test("asks for it with the summary before and the messages, as a stream", async () => {
    server.answer({ tokens: ["Ada."] });
    await summarise();
    expect(server.seen).toHaveLength(1);
    const { model, stream, messages } = server.seen[0]?.body ?? { messages: [] };
    expect({ model, stream, roles: messages.map(({ role }) => role) }).toEqual({
      model: "test-summary",
      stream: true,
      roles: ["system", "user"],
    });
    expect(messages[1]?.content).toMatch(/The user likes green\.[^]*My name is Ada\./);
  });

  test("shortens a message of more tokens than a step in what it asks", async () => {
    server.answer({ tokens: ["Long."] });
    await summarise({ input: { ...INPUT, messages: [{ role: "user", content: "word ".repeat(5_000) }] }, stepTokens: 200 });
    const asked = server.seen[0]?.body.messages[1]?.content ?? "";
    expect(asked).toMatch(/characters left out/);
    expect(estimateTokens(asked)).toBeLessThan(300);
  });

  test.each<[string, ModelScript, string]>([
    ["refuses", { status: 401 }, "model_refused"],
    ["is asked too much", { status: 429 }, "model_rate_limited"],
    ["is down", { status: 503 }, "model_unavailable"],
    ["breaks off", { tokens: ["Ada "], ending: "cut" }, "model_interrupted"],
    ["ends without saying that it is complete", { tokens: ["Ada "], ending: "end" }, "model_incomplete"],
    ["sends a frame that is no JSON", { tokens: ["Ada "], malformed: true }, "model_bad_response"],
    ["answers with nothing", { tokens: [] }, "model_incomplete"],
    ["answers with nothing but blanks", { tokens: [" ", "\n\t", "\u3000"] }, "model_incomplete"],
  ])("throws an AppError when the model %s, without a word of what was said", async (_name, script, code) => {
    server.answer(script);
    const thrown = await summarise().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(AppError);
    expect(thrown).toMatchObject({ code });
    expect((thrown as AppError).message).not.toMatch(/Ada|green|secret/);
  });

  test("throws an AppError when nothing listens there", async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1`;
    await expect(summarise({ url })).rejects.toMatchObject({ name: "AppError", code: "model_unavailable" });
  });

  test.each<[string, ModelScript, AnswerTimeouts, string]>([
    ["says nothing", { firstTokenMs: 2_000 }, { ...PATIENT, firstTokenMs: 150 }, "model_first_token_timeout"],
    ["falls silent", { tokens: ["Ada "], ending: "hang" }, { ...PATIENT, idleMs: 150 }, "model_stalled"],
  ])("gives up on a model that %s by the deadline, and closes the connection", async (_name, script, timeouts, code) => {
    server.answer(script);
    await expect(summarise({ timeouts })).rejects.toMatchObject({ name: "AppError", code });
    await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
    expect(server.seen).toHaveLength(1);
  });

  test("cuts the middle of a huge answer, and marks it: a summary has at most 1,000 tokens", async () => {
    server.answer({ tokens: ["The beginning. ", ...Array.from({ length: 200 }, () => "导演 said so. ".repeat(20)), "The end."] });
    const summary = await summarise();
    expect(summary).toMatch(/^The beginning\. [^]* \[…\d+ characters left out…\] [^]*The end\.$/u);
    expect(estimateTokens(summary)).toBeLessThanOrEqual(1_000);
    expect(estimateTokens(summary)).toBeGreaterThan(700);
  });

  test("leaves an answer of 1,000 tokens as it is", async () => {
    const text = "导演".repeat(500);
    server.answer({ tokens: [text] });
    expect(await summarise()).toBe(text);
  });

  test("gives half a surrogate pair, which Postgres cannot store, as the replacement character", async () => {
    server.answer({ tokens: ["face \uD83D"] });
    expect(await summarise()).toBe("face \uFFFD");
  });

  test("stops at once when its signal aborts, with the reason, and closes the connection", async () => {
    server.answer({ tokens: ["Ada "], ending: "hang" });
    const controller = new AbortController();
    const reason = new AppError("shutting_down", "The process that ran the job stopped.");
    const summarised = summarise({ signal: controller.signal }).catch((error: unknown) => error);
    await waitUntil("the request", () => server.seen.length === 1);
    controller.abort(reason);
    expect(await summarised).toBe(reason);
    await waitUntil("the connection to close", () => server.seen.every(({ aborted }) => aborted));
  });

  test("asks nothing when its signal has aborted already", async () => {
    const reason = new AppError("shutting_down", "The process that ran the job stopped.");
    await expect(summarise({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.seen.filter(({ aborted }) => !aborted)).toEqual([]);
  });
});
