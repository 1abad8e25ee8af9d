import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText, type ReceivedEvent } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { freePort } from "../../servers/postgres-server.ts";
import { openTestService } from "../../support/services/service.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const TOKENS = ["one ", "two ", "three "];
/** What only the model's server knows, or the layers between. */
const RAW = /secret words|not json|127\.0\.0\.1|ECONN|fetch failed|terminated|aborted|node_modules|SyntaxError|APIError/i;

interface Fault {
  script: ModelScript;
  code: string;
  retryable: boolean;
  says: RegExp;
  /** What is kept of the answer. */
  kept?: string;
  calls?: number;
}

const FAULTS: [name: string, fault: Fault][] = [
  ["answers 500", { script: { status: 500 }, code: "model_unavailable", retryable: true, says: /status 500/, calls: 2 }],
  ["answers 503", { script: { status: 503 }, code: "model_unavailable", retryable: true, says: /status 503/, calls: 2 }],
  ["answers 429", { script: { status: 429 }, code: "model_rate_limited", retryable: true, says: /limits requests/ }],
  ["answers 401", { script: { status: 401 }, code: "model_refused", retryable: false, says: /status 401.*OPENAI_API_KEY/ }],
  ["answers 404", { script: { status: 404 }, code: "model_refused", retryable: false, says: /status 404.*CHAT_MODEL/ }],
  ["answers 400", { script: { status: 400 }, code: "model_refused", retryable: false, says: /status 400/ }],
  [
    "says nothing",
    {
      script: { tokens: [], ending: "hang" },
      code: "model_first_token_timeout",
      retryable: true,
      says: /within 600 ms.*MODEL_FIRST_TOKEN/,
    },
  ],
  [
    "does not even begin to answer",
    { script: { firstTokenMs: 20_000 }, code: "model_first_token_timeout", retryable: true, says: /within 600 ms/ },
  ],
  [
    "stalls",
    {
      script: { tokens: TOKENS, ending: "hang" },
      code: "model_stalled",
      retryable: true,
      says: /for 500 ms.*MODEL_IDLE_TIMEOUT_MS/,
      kept: "one two three ",
    },
  ],
  [
    "drops the connection",
    {
      script: { tokens: TOKENS, ending: "cut" },
      code: "model_interrupted",
      retryable: true,
      says: /broke in the middle/,
      kept: "one two three ",
    },
  ],
  [
    "ends without a finish reason",
    {
      script: { tokens: TOKENS, ending: "end" },
      code: "model_incomplete",
      retryable: true,
      says: /without saying/,
      kept: "one two three ",
    },
  ],
  [
    "sends a malformed frame",
    {
      script: { tokens: TOKENS, malformed: true },
      code: "model_bad_response",
      retryable: true,
      says: /not part of an answer/,
      kept: "one two three ",
    },
  ],
  [
    "begins with a malformed frame",
    { script: { tokens: [], malformed: true }, code: "model_bad_response", retryable: true, says: /not an answer/ },
  ],
  ["finishes without a word", { script: { tokens: [] }, code: "model_incomplete", retryable: true, says: /empty answer/, calls: 2 }],
  [
    "drops the connection before a word",
    { script: { tokens: [], ending: "cut" }, code: "model_unavailable", retryable: true, says: /cannot be reached/, calls: 2 },
  ],
];

function expectOneError(events: ReceivedEvent[], { code, retryable, says }: Pick<Fault, "code" | "retryable" | "says">): void {
  const terminal = events.filter(({ data }) => data.status === "done" || data.status === "error");
  expect(terminal).toHaveLength(1);
  expect(events.at(-1)).toBe(terminal[0]);
  expect(contentOf(events, "error")).toEqual({ code, message: expect.stringMatching(says), retryable });
  expect(JSON.stringify(events)).not.toMatch(RAW);
}

describe("a turn whose model", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({ MODEL_FIRST_TOKEN_TIMEOUT_MS: "600", MODEL_IDLE_TIMEOUT_MS: "500" });
  });
  afterAll(() => running.close());

  const ask = (sessionId: string, message = "hello"): object => ({ user_id: "ada", session_id: sessionId, message });

  test.each(FAULTS)("%s ends in one coded error, keeps what was said, and the next turn works", async (session, fault) => {
    running.model.answer(fault.script);
    const before = running.model.seen.length;
    const { status, events } = await postTurn(running.url, ask(session));
    expect(status).toBe(200);
    expectOneError(events, fault);
    expect(tokenText(events)).toBe(fault.kept ?? "");
    expect(running.model.seen.length - before).toBe(fault.calls ?? 1);

    const stored = await messagesOf(running.url, "ada", session);
    expect(stored.map(({ role, content, completed }) => ({ role, content, completed }))).toEqual([
      { role: "user", content: "hello", completed: true },
      ...(fault.kept === undefined ? [] : [{ role: "assistant", content: fault.kept, completed: false }]),
    ]);

    running.model.answer({ tokens: ["fine"] });
    const next = await postTurn(running.url, ask(session, "and now?"));
    expect(contentOf(next.events, "done")).toMatchObject({ answer: "fine", completed: true });
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("one two three");
  });

  test.each(FAULTS)("%s is a plain 503 with the same code for who waits for the whole answer", async (session, fault) => {
    running.model.answer(fault.script);
    const refused = await postJson(`${running.url}/api/v1/chat`, ask(`${session}, whole`));
    expectRefusal(refused, { status: 503, code: fault.code, says: fault.says });
    expect(refused.text).not.toMatch(RAW);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("x-turn-id")).toEqual(expect.any(String));
  });

  test("fails once before its first word is asked again, unnoticed", async () => {
    let calls = 0;
    running.model.answer(() => (calls++ === 0 ? { status: 500 } : { tokens: ["fine"] }));
    const { events } = await postTurn(running.url, ask("asked again"));
    expect(contentOf(events, "done").answer).toBe("fine");
    expect(calls).toBe(2);
  });

  test("stops at its limit of tokens has answered completely", async () => {
    running.model.answer({ tokens: TOKENS, ending: "length" });
    const { events } = await postTurn(running.url, ask("length"));
    expect(contentOf(events, "done")).toMatchObject({ answer: "one two three ", completed: true });
  });

  test("is slow but never silent for long is waited for", async () => {
    running.model.answer({ tokens: Array.from({ length: 6 }, () => "word "), betweenMs: 250 });
    const { events } = await postTurn(running.url, ask("slow"));
    expect(contentOf(events, "done").answer).toBe("word ".repeat(6));
  });

  test("answers without end is cut off, and what was said is kept", async () => {
    running.model.answer({ tokens: Array.from({ length: 120 }, () => "x".repeat(10_000)), ending: "hang" });
    const { events } = await postTurn(running.url, ask("endless"));
    expect(contentOf(events, "error").code).toMatch(/^model_/);
    const answer = (await messagesOf(running.url, "ada", "endless"))[1];
    expect(answer?.completed).toBe(false);
    expect(answer?.content.length).toBeGreaterThanOrEqual(1_000_000);
    expect(answer?.content.length).toBeLessThan(1_100_000);
    await waitUntil("the model's connection closed", () => running.model.seen.at(-1)?.aborted);
  });

  test("is not there at all ends in a coded error too", async () => {
    const service = await openTestService({ OPENAI_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` });
    const { events } = await postTurn(service.url, ask("no server"));
    expectOneError(events, { code: "model_unavailable", retryable: true, says: /cannot be reached.*OPENAI_BASE_URL/ });
    expect((await messagesOf(service.url, "ada", "no server")).map(({ role }) => role)).toEqual(["user"]);
    await service.close();
  });
});
