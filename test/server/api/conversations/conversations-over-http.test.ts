import { beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../../turn/events.ts";
import {
  callApi,
  listMessages,
  postJson,
  type ListedConversation,
  type ListedMessage,
  type ErrorBody,
} from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";

type ListPage = { conversations: ListedConversation[]; messages: ListedMessage[]; next: string | null };
describe("the lists of conversations and messages", () => {
  const running = useServiceWithModel();
  const conversationIds: string[] = [];
  beforeAll(async () => {
    running.model.answer({ tokens: ["answer"] });
    for (let index = 0; index < 4; index++) conversationIds.push(await say("ada", `session ${index}`, "hello"));
    for (let index = 1; index < 4; index++) await say("ada", "session 0", `message ${index}`);
  });

  async function say(userId: string, sessionId: string, message: string): Promise<string> {
    const body = { user_id: userId, session_id: sessionId, message };
    return (await postJson<TurnResult>(`${running.url}/api/v1/chat`, body)).json.conversation_id;
  }
  const list = (userId: string, query = "") =>
    callApi<ListPage>(`${running.url}/api/v1/conversations?user_id=${encodeURIComponent(userId)}${query}`);

  async function readPages(path: string, limit: number): Promise<ListPage[]> {
    const pages: ListPage[] = [];
    let after = "";
    for (;;) {
      const { status, json } = await callApi<ListPage>(`${running.url}${path}limit=${limit}${after}`);
      expect(status).toBe(200);
      pages.push(json);
      if (json.next === null) return pages;
      after = `&after=${encodeURIComponent(json.next)}`;
    }
  }

  test("show a user's conversations with the newest first", async () => {
    const { conversations } = (await list("ada")).json;
    expect(conversations.map(({ id }) => id)).toEqual(conversationIds.toReversed());
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
    const oldest = conversations.at(-1);
    const counted = { id: conversationIds[0], session_id: "session 0", message_count: 8, first_message: "hello" };
    const shown = {
      title: "hello",
      last_message: "answer",
      pinned: false,
      archived: false,
      metadata: {},
      active_agent: null,
      forked_from: null,
    };
    expect(oldest).toEqual({ ...counted, ...shown, created_at: time, updated_at: time });
    expect(Date.parse(oldest?.updated_at ?? "")).toBeGreaterThan(Date.parse(oldest?.created_at ?? ""));
  });

  test('show conversations page by page without gaps or repeats, and "next" is null at the end', async () => {
    const pages = await readPages("/api/v1/conversations?user_id=ada&", 3);
    expect(pages.map(({ conversations }) => conversations.length)).toEqual([3, 1]);
    expect(pages.flatMap(({ conversations }) => conversations.map(({ id }) => id))).toEqual(conversationIds.toReversed());
  });

  test("show messages page by page with the oldest first, without gaps or repeats", async () => {
    const pages = await readPages(`/api/v1/conversations/${conversationIds[0]}/messages?`, 5);
    expect(pages).toHaveLength(2);
    const messages = pages.flatMap((page) => page.messages);
    const said = ["hello", "message 1", "message 2", "message 3"].flatMap((content) => [content, "answer"]);
    expect(messages.map(({ content }) => content)).toEqual(said);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(8);
    const times = messages.map(({ created_at }) => Date.parse(created_at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });

  test("lead to a message that can be read by its id", async () => {
    const [id = ""] = conversationIds;
    const [asked] = await listMessages(running.url, id);
    const find = (message = "") => callApi(`${running.url}/api/v1/messages/${message}`);
    expect((await find(asked?.id)).json).toEqual({ message: asked, conversation_id: id, user_id: "ada" });
    expectRefusal(await find(uuidv7()), { status: 404, code: "not_found" });
    expectRefusal(await find("x"), { status: 400, code: "invalid_request" });
  });

  test("begin with the newest message on request", async () => {
    const address = `${running.url}/api/v1/conversations/${conversationIds[0]}/messages`;
    const { messages } = (await callApi<ListPage>(`${address}?order=newest_first&limit=2`)).json;
    expect(messages.map(({ content }) => content)).toEqual(["answer", "message 3"]);
    expectRefusal(await callApi(`${address}?order=newest`), { status: 400, code: "invalid_request", field: "order" });
  });

  test("have 50 entries on a page unless a limit is given", async () => {
    for (let index = 0; index < 26; index++) await say("many", "s", `message ${index}`);
    const [conversation] = (await list("many")).json.conversations;
    const { json } = await callApi<ListPage>(`${running.url}/api/v1/conversations/${conversation?.id}/messages`);
    expect(json.messages).toHaveLength(50);
    expect(json.next).toEqual(expect.any(String));
  });
});

describe("a fork of a conversation", () => {
  const database = useTestPostgres();
  const opened = useServiceWithModel({
    SUMMARY_MIN_MESSAGES: "4",
    SUMMARY_UPDATE_DELTA: "2",
    HISTORY_WINDOW: "2",
    ENABLE_SUMMARY: "true",
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    get DATABASE_URL() {
      return database.url;
    },
  });
  const api = (path: string): string => `${opened.url}/api/v1/${path}`;
  const list = async (id: string): Promise<ListedMessage[]> =>
    (await callApi<{ messages: ListedMessage[] }>(api(`conversations/${id}/messages?limit=200`))).json.messages;
  const contents = async (id: string): Promise<string[]> => (await list(id)).map(({ content }) => content);
  const settle = (id: string) => postJson<{ settled: boolean }>(api(`conversations/${id}/settle?timeout_ms=30000`), {});
  const fork = (id: string, body: object) => postJson<{ conversation_id: string } & ErrorBody>(api(`conversations/${id}/fork`), body);
  const lastPrompt = (): string => JSON.stringify(opened.model.seen.filter(({ body }) => body.stream).at(-1)?.body.messages);
  /** A user of this test alone. */
  function person() {
    const userId = `ada ${uuidv7()}`;
    async function say(sessionId: string, message: string, answer: string): Promise<TurnResult> {
      opened.model.answer({ tokens: [answer] });
      const { status, json, text } = await postJson<TurnResult>(api("chat"), { user_id: userId, session_id: sessionId, message });
      expect({ status, text }).toMatchObject({ status: 200 });
      return json;
    }
    const recall = async (query: string): Promise<string[]> => {
      const address = `users/${encodeURIComponent(userId)}/episodes?query=${encodeURIComponent(query)}`;
      const { status, json, text } = await callApi<{ episodes: { user_message: string }[] }>(api(address));
      expect({ status, text }).toMatchObject({ status: 200 });
      return json.episodes.map((one) => one.user_message);
    };
    const listed = async () =>
      (await callApi<{ conversations: { id: string; forked_from: unknown }[] }>(api(`conversations?user_id=${encodeURIComponent(userId)}`)))
        .json.conversations;
    return { userId, say, recall, listed };
  }
  test("goes on by itself, names its origin, and is refused when its session or place is wrong", async () => {
    const { say, listed } = person();
    const origin = await say("origin", "My boat is the Argo", "Noted.");
    await say("origin", "It is blue", "Nice.");
    const { status, json } = await fork(origin.conversation_id, { at: origin.message_id, session_id: "forked" });
    expect(status).toBe(201);
    const id = json.conversation_id;
    expect(await contents(id)).toEqual(["My boat is the Argo", "Noted."]);
    await say("forked", "It is green", "Nice, too.");
    expect(lastPrompt()).toMatch(/Argo.*green/);
    expect(lastPrompt()).not.toContain("blue");
    expect(await contents(origin.conversation_id)).toEqual(["My boat is the Argo", "Noted.", "It is blue", "Nice."]);
    const from = { conversation_id: origin.conversation_id, message_id: origin.message_id };
    expect((await listed()).map((one) => [one.id, one.forked_from])).toEqual([
      [id, from],
      [origin.conversation_id, null],
    ]);
    expectRefusal(await fork(origin.conversation_id, { session_id: "forked" }), { status: 409, code: "conversation_busy" });
    expectRefusal(await fork(origin.conversation_id, { at: uuidv7(), session_id: "other" }), {
      status: 404,
      code: "not_found",
      field: "at",
    });
    expectRefusal(await fork(origin.conversation_id, { at: "x", session_id: "other" }), {
      status: 400,
      code: "invalid_request",
      field: "at",
    });
    expectRefusal(await fork(origin.conversation_id, {}), { status: 400, code: "invalid_request", field: "session_id" });
    expectRefusal(await fork(uuidv7(), { session_id: "other" }), { status: 404, code: "not_found" });
  });
  test("shares the origin's summary and recalled exchanges once each, and loses both when the origin is erased", async () => {
    const { say, recall } = person();
    const origin = await say("origin", "My sister Zelda keeps zeppelins", "Zeppelins, noted.");
    for (const n of [2, 3, 4, 5]) await say("origin", `Harbour number ${n}`, `Harbour ${n}, noted.`);
    expect((await settle(origin.conversation_id)).json).toMatchObject({ settled: true });
    const { json } = await fork(origin.conversation_id, { session_id: "forked" });
    const id = json.conversation_id;
    const { json: has } = await callApi<{ summary: { covered_message_count: number } | null }>(api(`conversations/${id}/summary`));
    expect(has.summary?.covered_message_count).toBeGreaterThan(0);
    await say("forked", "Which harbours?", "All of them.");
    expect((await settle(id)).json).toMatchObject({ settled: true });
    expect((await recall("Who keeps zeppelins, Zelda?")).filter((said) => said.includes("zeppelins"))).toHaveLength(1);
    const erased = await callApi(api(`conversations/${origin.conversation_id}`), { method: "DELETE" });
    expect(erased).toMatchObject({ status: 200, json: { erased: { messages: 10 }, forks: [id] } });
    expect(await contents(id)).toEqual(["Which harbours?", "All of them."]);
    expect((await recall("Who keeps zeppelins, Zelda?")).filter((said) => said !== "Which harbours?")).toEqual([]);
    const left = await callApi(api(`conversations/${id}/summary`));
    expect(left.text).not.toMatch(/Zelda|zeppelins/i);
    await say("forked", "And now?", "Now.");
    expect(lastPrompt()).not.toMatch(/Zelda|zeppelins/i);
  });
});
