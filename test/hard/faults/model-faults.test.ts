import { describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText, type ReceivedEvent } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const TOKENS = ["one ", "two ", "three "];
/** What only the model's server knows, or the layers between. */
const RAW = /secret words|not json|127\.0\.0\.1|ECONN|fetch failed|terminated|aborted|node_modules|SyntaxError|APIError/i;

const FAULTS: [name: string, script: ModelScript, code: string, says: RegExp, calls: number][] = [
  ["answers 500", { status: 500 }, "model_unavailable", /status 500/, 2],
  ["answers 429", { status: 429 }, "model_rate_limited", /limits requests/, 2],
  ["answers 401", { status: 401 }, "model_unauthorized", /OPENAI_API_KEY/, 1],
  ["answers 404", { status: 404 }, "model_refused", /status 404.*CHAT_MODEL/, 1],
  ["says nothing", { tokens: [], ending: "hang" }, "model_first_token_timeout", /within 600 ms.*MODEL_FIRST_TOKEN/, 1],
  ["stalls", { tokens: TOKENS, ending: "hang" }, "model_stalled", /for 500 ms.*MODEL_IDLE_TIMEOUT_MS/, 1],
  ["drops the connection", { tokens: TOKENS, ending: "cut" }, "model_interrupted", /broke in the middle/, 1],
  ["ends without a finish reason", { tokens: TOKENS, ending: "end" }, "model_incomplete", /without saying/, 1],
  ["sends a malformed frame", { tokens: TOKENS, malformed: true }, "model_bad_response", /not part of an answer/, 1],
  ["begins with a malformed frame", { tokens: [], malformed: true }, "model_bad_response", /not an answer/, 1],
  ["finishes without a word", { tokens: [] }, "model_incomplete", /empty answer/, 2],
  ["drops the connection before a word", { tokens: [], ending: "cut" }, "model_unavailable", /cannot be reached/, 2],
];

/** Asking again is no use. */
const FINAL = ["model_refused", "model_unauthorized", "model_not_found"];

function expectOneError(events: ReceivedEvent[], code: string, says: RegExp): void {
  const terminal = events.filter(({ data }) => data.status === "done" || data.status === "error");
  expect(terminal).toHaveLength(1);
  expect(events.at(-1)).toBe(terminal[0]);
  expect(contentOf(events, "error")).toEqual({
    code,
    message: expect.stringMatching(says),
    retryable: !FINAL.includes(code),
  });
  expect(JSON.stringify(events)).not.toMatch(RAW);
}

describe("a turn whose model", () => {
  const running = useServiceWithModel({ MODEL_FIRST_TOKEN_TIMEOUT_MS: "600", MODEL_IDLE_TIMEOUT_MS: "500" });

  const ask = (sessionId: string, message = "hello"): object => ({ user_id: "ada", session_id: sessionId, message });

  test.each(FAULTS)(
    "%s ends in one error with a code, keeps what was said, and lets the next turn work",
    async (session, script, code, says, calls) => {
      running.model.answer(script);
      const before = running.model.seen.length;
      const { status, events } = await postTurn(running.url, ask(session));
      expect(status).toBe(200);
      expectOneError(events, code, says);
      const kept = script.tokens?.join("") ?? "";
      expect(tokenText(events)).toBe(kept);
      expect(running.model.seen.length - before).toBe(calls);

      const stored = await messagesOf(running.url, "ada", session);
      expect(stored.map(({ role, content, completed }) => ({ role, content, completed }))).toEqual([
        { role: "user", content: "hello", completed: true },
        ...(kept === "" ? [] : [{ role: "assistant", content: kept, completed: false }]),
      ]);

      running.model.answer({ tokens: ["fine"] });
      const next = await postTurn(running.url, ask(session, "and now?"));
      expect(contentOf(next.events, "done")).toMatchObject({ answer: "fine", completed: true });
      expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("one two three");
    },
  );

  test.each(FAULTS)(
    "%s is answered with a plain 503 (or 422, where another try is no use) and the same code when the client waits for the whole answer",
    async (session, script, code, says) => {
      running.model.answer(script);
      const refused = await postJson(`${running.url}/api/v1/chat`, ask(`${session}, whole`));
      const isFinal = FINAL.includes(code);
      expectRefusal(refused, { status: isFinal ? 422 : 503, code, says });
      expect(refused.text).not.toMatch(RAW);
      expect(refused.headers.get("retry-after")).toBe(isFinal ? null : "1");
      expect(refused.headers.get("x-turn-id")).toEqual(expect.any(String));
    },
  );

  test("stops at its limit of tokens counts as answered completely", async () => {
    running.model.answer({ tokens: TOKENS, ending: "length" });
    const { events } = await postTurn(running.url, ask("length"));
    expect(contentOf(events, "done")).toMatchObject({ answer: "one two three ", completed: true });
  });

  test("answers without end is cut off and keeps what was said", async () => {
    running.model.answer({ tokens: Array.from({ length: 120 }, () => "x".repeat(10_000)), ending: "hang" });
    const { events } = await postTurn(running.url, ask("endless"));
    expect(contentOf(events, "error").code).toMatch(/^model_/);
    const answer = (await messagesOf(running.url, "ada", "endless"))[1];
    expect(answer?.completed).toBe(false);
    expect(answer?.content.length).toBeGreaterThanOrEqual(1_000_000);
    expect(answer?.content.length).toBeLessThan(1_100_000);
    await waitUntil("the model's connection closed", () => running.model.seen.at(-1)?.aborted);
  });
});
