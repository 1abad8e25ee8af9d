import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf, type ListedMessage } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const MANY_TOKENS = Array.from({ length: 400 }, (_, index) => `word${index} `);

describe("a client that leaves", () => {
  const running = useServiceWithModel();
  beforeEach(() => {
    running.model.seen.length = 0;
    running.model.answer({ tokens: MANY_TOKENS, betweenMs: 25 });
  });

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const stored = (sessionId: string): Promise<ListedMessage[]> => messagesOf(running.url, "ada", sessionId);
  const modelIsLeft = () =>
    waitUntil("the model's connections closed", () => running.model.seen.length > 0 && running.model.seen.every(({ aborted }) => aborted));

  /** Sends a request and leaves when the model has spoken for a while; resolves with the stored answer. */
  async function leaveInMidAnswer(path: string, sessionId: string, fields: object = {}): Promise<ListedMessage> {
    const leaving = new AbortController();
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(ask(sessionId, fields));
    const request = fetch(running.url + path, { method: "POST", headers, body, signal: leaving.signal }).then((response) =>
      response.text(),
    );
    await running.model.untilAsked();
    await sleep(200);
    leaving.abort();
    await expect(request).rejects.toThrow();
    return waitUntil("the answer", async () => (await stored(sessionId))[1]);
  }

  test("cancels the model call at once; what was said is kept as incomplete, and is in no later prompt", async () => {
    const { events } = await postTurn(running.url, ask("leaves"), { onEvent: (_event, sofar) => (sofar.length > 5 ? "leave" : undefined) });
    await modelIsLeft();
    running.model.answer({ tokens: ["fine"] });
    const next = await postTurn(running.url, ask("leaves", { message: "and now?", on_busy: "enqueue" }));
    expect(contentOf(next.events, "done")).toMatchObject({ answer: "fine", receipt: { window_messages: 1 } });
    const prompt = running.model.seen.at(-1)?.body.messages.slice(1);
    expect(prompt?.map(({ content }) => content)).toEqual(["hello", "(no answer)", "and now?"]);
    const [question, answer, ...others] = await stored("leaves");
    expect(others).toHaveLength(2);
    expect(question).toMatchObject({ role: "user", content: "hello", completed: true });
    expect(answer).toMatchObject({ role: "assistant", completed: false });
    expect(answer?.content.startsWith(tokenText(events))).toBe(true);
    expect(MANY_TOKENS.join("").startsWith(answer?.content ?? "-")).toBe(true);
    expect(answer?.content.length).toBeLessThan(MANY_TOKENS.join("").length);
  });

  test("before the first token stores no empty answer", async () => {
    running.model.answer({ tokens: [], ending: "hang" });
    await postTurn(running.url, ask("early"), { onEvent: () => "leave" });
    await modelIsLeft();
    running.model.answer({ tokens: ["fine"] });
    await postTurn(running.url, ask("early", { message: "again", on_busy: "enqueue" }));
    expect((await stored("early")).map(({ content }) => content)).toEqual(["hello", "again", "fine"]);
  });

  test("cancels also when it waits for the whole answer", async () => {
    expect(await leaveInMidAnswer("/api/v1/chat", "whole")).toMatchObject({ role: "assistant", completed: false });
    await modelIsLeft();
  });

  test.each(["/api/v1/chat/stream", "/api/v1/chat"])("with on_disconnect continue from %s lets the turn finish", async (path) => {
    running.model.answer({ tokens: MANY_TOKENS.slice(0, 40), betweenMs: 20 });
    const answer = await leaveInMidAnswer(path, path, { on_disconnect: "continue" });
    expect(answer).toMatchObject({ role: "assistant", content: MANY_TOKENS.slice(0, 40).join(""), completed: true });
    expect(running.model.seen.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test("at the last event changes nothing", async () => {
    running.model.answer({ tokens: ["all ", "said"] });
    await postTurn(running.url, ask("late"), { onEvent: ({ data }) => (data.status === "done" ? "leave" : undefined) });
    expect((await stored("late"))[1]).toMatchObject({ content: "all said", completed: true });
  });

  test("in crowds leaves nothing running and every conversation free", async () => {
    const sessions = Array.from({ length: 20 }, (_, index) => `crowd ${index}`);
    await Promise.all(
      sessions.map((session, index) =>
        postTurn(running.url, ask(session), { onEvent: (_event, sofar) => (sofar.length > index % 4 ? "leave" : undefined) }),
      ),
    );
    await modelIsLeft();
    running.model.answer({ tokens: ["fine"] });
    const turns = await Promise.all(sessions.map((session) => postTurn(running.url, ask(session, { on_busy: "enqueue" }))));
    for (const { events } of turns) expect(contentOf(events, "done").answer).toBe("fine");
  });
});
