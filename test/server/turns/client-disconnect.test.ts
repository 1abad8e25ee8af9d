import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf, type ListedMessage } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const MANY_TOKENS = Array.from({ length: 400 }, (_, index) => `word${index} `);

describe("a client that leaves", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel();
  });
  afterAll(() => running.close());

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const stored = (sessionId: string): Promise<ListedMessage[]> => messagesOf(running.url, "ada", sessionId);

  test("cancels the model call at once, and what was said is kept as incomplete", async () => {
    running.model.answer({ tokens: MANY_TOKENS, betweenMs: 25 });
    const before = running.model.seen.length;
    const { events } = await postTurn(running.url, ask("leaves"), { onEvent: (_event, sofar) => (sofar.length > 5 ? "leave" : undefined) });
    const left = performance.now();
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    expect(performance.now() - left).toBeLessThan(5_000); // the whole answer would take ten
    const [question, answer, ...others] = await waitUntil("the partial answer", async () => {
      const messages = await stored("leaves");
      return messages.length > 1 && messages;
    });
    expect(others).toEqual([]);
    expect(question).toMatchObject({ role: "user", content: "hello", completed: true });
    expect(answer).toMatchObject({ role: "assistant", completed: false });
    expect(answer?.content.startsWith(tokenText(events))).toBe(true);
    expect(MANY_TOKENS.join("").startsWith(answer?.content ?? "-")).toBe(true);
    expect(answer?.content.length).toBeLessThan(MANY_TOKENS.join("").length);
  });

  test("finds the conversation free again, its partial answer in no later prompt", async () => {
    running.model.answer({ tokens: MANY_TOKENS, betweenMs: 25 });
    await postTurn(running.url, ask("comes back"), { onEvent: (_event, sofar) => (sofar.length > 3 ? "leave" : undefined) });
    running.model.answer({ tokens: ["fine"] });
    const { events } = await postTurn(running.url, ask("comes back", { message: "and now?", on_busy: "enqueue" }));
    expect(contentOf(events, "done")).toMatchObject({ answer: "fine", receipt: { window_messages: 1 } });
    const prompt = running.model.seen.at(-1)?.body.messages.slice(1);
    expect(prompt).toEqual([
      { role: "user", content: "hello" },
      { role: "user", content: "and now?" },
    ]);
  });

  test("before the first token stores no empty answer", async () => {
    running.model.answer({ tokens: [], ending: "hang" });
    const before = running.model.seen.length;
    await postTurn(running.url, ask("early"), { onEvent: () => "leave" });
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    running.model.answer({ tokens: ["fine"] });
    await postTurn(running.url, ask("early", { message: "again", on_busy: "enqueue" }));
    expect((await stored("early")).map(({ role, content }) => [role, content])).toEqual([
      ["user", "hello"],
      ["user", "again"],
      ["assistant", "fine"],
    ]);
  });

  test("cancels also when it waits for the whole answer", async () => {
    running.model.answer({ tokens: MANY_TOKENS, betweenMs: 25 });
    const before = running.model.seen.length;
    const leaving = new AbortController();
    const request = fetch(`${running.url}/api/v1/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(ask("whole")),
      signal: leaving.signal,
    });
    await waitUntil("the model asked", () => running.model.seen[before]);
    await sleep(200);
    leaving.abort();
    await expect(request).rejects.toThrow();
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    const answer = await waitUntil("the partial answer", async () => (await stored("whole"))[1]);
    expect(answer).toMatchObject({ role: "assistant", completed: false });
  });

  test.each(["/api/v1/chat/stream", "/api/v1/chat"])("with on_disconnect continue from %s lets the turn finish", async (path) => {
    running.model.answer({ tokens: MANY_TOKENS.slice(0, 40), betweenMs: 20 });
    const before = running.model.seen.length;
    const leaving = new AbortController();
    const request = fetch(running.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(ask(path, { on_disconnect: "continue" })),
      signal: leaving.signal,
    });
    await waitUntil("the model asked", () => running.model.seen[before]);
    await sleep(200);
    leaving.abort();
    await request.then((response) => response.text()).catch(() => undefined);
    const answer = await waitUntil("the answer", async () => (await stored(path))[1]);
    expect(answer).toMatchObject({ role: "assistant", content: MANY_TOKENS.slice(0, 40).join(""), completed: true });
    expect(running.model.seen[before]?.aborted).toBe(false);
  });

  test("at the last event changes nothing", async () => {
    running.model.answer({ tokens: ["all ", "said"] });
    await postTurn(running.url, ask("late"), { onEvent: ({ data }) => (data.status === "done" ? "leave" : undefined) });
    expect((await stored("late"))[1]).toMatchObject({ content: "all said", completed: true });
  });

  test("in crowds leaves nothing running and every conversation free", async () => {
    running.model.answer({ tokens: MANY_TOKENS, betweenMs: 25 });
    const before = running.model.seen.length;
    const sessions = Array.from({ length: 20 }, (_, index) => `crowd ${index}`);
    await Promise.all(
      sessions.map((session, index) =>
        postTurn(running.url, ask(session), { onEvent: (_event, sofar) => (sofar.length > index % 4 ? "leave" : undefined) }),
      ),
    );
    await waitUntil("every call of the model ended", () => running.model.seen.slice(before).every(({ aborted }) => aborted));
    running.model.answer({ tokens: ["fine"] });
    const turns = await Promise.all(sessions.map((session) => postTurn(running.url, ask(session, { on_busy: "enqueue" }))));
    for (const { events } of turns) expect(contentOf(events, "done").answer).toBe("fine");
  });
});
