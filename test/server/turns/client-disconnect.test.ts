import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf, type ListedMessage, callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { v7 as uuidv7 } from "uuid";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { streamTurn } from "../../support/clients/turn-client.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

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

  test("cancels the model's call at once, and its half answer is kept as incomplete and is in no later prompt", async () => {
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

  test("cancels the model's call also when it waits for the whole answer", async () => {
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

  test("as one of many leaves nothing running and every conversation free", async () => {
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

const SECRET = "My locker code is seventeen, and I love brown bears.";
const NOTHING = { remember: false };
describe("a turn with remember: false", () => {
  const running = useServiceWithEpisodes({ SUMMARY_MIN_MESSAGES: "2", SUMMARY_UPDATE_DELTA: "2", HISTORY_WINDOW: "0" });
  const ask = (sessionId: string, message: string, fields: object = {}) =>
    postTurn(running.url, { user_id: "ada", session_id: sessionId, message, ...fields });
  const lastPrompt = (): string => JSON.stringify(running.model.seen.at(-1)?.body.messages);
  const get = async (path: string) => JSON.stringify((await callApi(`${running.url}${path}`)).json);

  test("is answered with memory, and is in no later prompt, summary, episode or memory operation", async () => {
    running.model.answer({ tokens: ["Noted ", "it."] });
    await ask("talk", "My favourite director is Agnès Varda.");
    const { events } = await ask("talk", SECRET, NOTHING);
    const done = contentOf(events, "done");
    expect(done).toMatchObject({ answer: "Noted it.", completed: true });
    expect(lastPrompt()).toContain("Agnès Varda");
    const id = done.conversation_id;
    await ask("talk", "What did I say about brown bears and my locker code?");
    expect(lastPrompt()).not.toContain("seventeen");
    await running.settle(id);
    await ask("another", "What did I say about brown bears and my locker code?");
    expect(lastPrompt()).not.toContain("seventeen");
    for (const path of [
      `conversations/${id}/summary`,
      "users/ada/episodes?query=locker",
      "users/ada/memory-operations",
      "users/ada/core-memory",
    ])
      expect(await get(`/api/v1/${path}`)).not.toContain("seventeen");
  });

  test("is listed as not remembered, exported, resumed after a break, and erased", async () => {
    running.model.answer({ tokens: ["Noted ", "it."] });
    const { events, headers } = await ask("listed", SECRET, NOTHING);
    const listed = await messagesOf(running.url, "ada", "listed");
    expect(listed).toMatchObject([
      { role: "user", content: SECRET, completed: false, metadata: NOTHING },
      { role: "assistant", content: "Noted it.", completed: false, metadata: NOTHING },
    ]);
    const again = await streamTurn(running.url, headers.get("x-turn-id") ?? "", { lastEventId: "2.6" });
    expect([tokenText(again.events), contentOf(again.events, "done").completed]).toEqual(["it.", true]);
    const { conversation_id: id } = contentOf(events, "done");
    const exported = await (await fetch(`${running.url}/api/v1/users/ada/export`)).text();
    expect(exported).toContain(id);
    expect((await callApi(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await (await fetch(`${running.url}/api/v1/users/ada/export`)).text()).not.toContain(id);
  });

  test("may leave out its session, even with a key, and then has its own conversation", async () => {
    const body = { user_id: "eve", message: "hello", remember: false };
    const headers = { "idempotency-key": uuidv7() };
    const [first, second] = [await postTurn(running.url, body, { headers }), await postTurn(running.url, body, { headers })];
    expect(contentOf(second.events, "done").message_id).toBe(contentOf(first.events, "done").message_id);
    await postTurn(running.url, body);
    const sessions = (await listConversations(running.url, "eve")).map(({ session_id }) => session_id);
    expect(sessions).toEqual([expect.stringMatching(/^once-/), expect.stringMatching(/^once-/)]);
    expect(new Set(sessions).size).toBe(2);
    expectRefusal(await postJson(`${running.url}/api/v1/chat`, { user_id: "eve", message: "hello" }), {
      status: 400,
      code: "invalid_request",
    });
  });
});
