import { beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, listMessages, postJson, type ListedConversation, type ListedMessage } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

type ListPage = { conversations: ListedConversation[]; messages: ListedMessage[]; next: string | null };

describe("the lists", () => {
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

  test("show a user's conversations, the newest first", async () => {
    const { conversations } = (await list("ada")).json;
    expect(conversations.map(({ id }) => id)).toEqual(conversationIds.toReversed());
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
    const oldest = conversations.at(-1);
    const counted = { id: conversationIds[0], session_id: "session 0", message_count: 8, first_message: "hello" };
    const shown = { title: "hello", last_message: "answer", pinned: false, archived: false, metadata: {}, forked_from: null };
    expect(oldest).toEqual({ ...counted, ...shown, created_at: time, updated_at: time });
    expect(Date.parse(oldest?.updated_at ?? "")).toBeGreaterThan(Date.parse(oldest?.created_at ?? ""));
  });

  test("page conversations without gaps or repeats, next null at the end", async () => {
    const pages = await readPages("/api/v1/conversations?user_id=ada&", 3);
    expect(pages.map(({ conversations }) => conversations.length)).toEqual([3, 1]);
    expect(pages.flatMap(({ conversations }) => conversations.map(({ id }) => id))).toEqual(conversationIds.toReversed());
  });

  test("page messages, the oldest first, without gaps or repeats", async () => {
    const pages = await readPages(`/api/v1/conversations/${conversationIds[0]}/messages?`, 5);
    expect(pages).toHaveLength(2);
    const messages = pages.flatMap((page) => page.messages);
    const said = ["hello", "message 1", "message 2", "message 3"].flatMap((content) => [content, "answer"]);
    expect(messages.map(({ content }) => content)).toEqual(said);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(8);
    const times = messages.map(({ created_at }) => Date.parse(created_at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });

  test("find a message by its id", async () => {
    const [id = ""] = conversationIds;
    const [asked] = await listMessages(running.url, id);
    const find = (message = "") => callApi(`${running.url}/api/v1/messages/${message}`);
    expect((await find(asked?.id)).json).toEqual({ message: asked, conversation_id: id, user_id: "ada" });
    expectRefusal(await find(uuidv7()), { status: 404, code: "not_found" });
    expectRefusal(await find("x"), { status: 400, code: "invalid_request" });
  });

  test("begin with the newest message when asked to", async () => {
    const address = `${running.url}/api/v1/conversations/${conversationIds[0]}/messages`;
    const { messages } = (await callApi<ListPage>(`${address}?order=newest_first&limit=2`)).json;
    expect(messages.map(({ content }) => content)).toEqual(["answer", "message 3"]);
    expectRefusal(await callApi(`${address}?order=newest`), { status: 400, code: "invalid_request", field: "order" });
  });

  test("give 50 without a limit", async () => {
    for (let index = 0; index < 26; index++) await say("many", "s", `message ${index}`);
    const [conversation] = (await list("many")).json.conversations;
    const { json } = await callApi<ListPage>(`${running.url}/api/v1/conversations/${conversation?.id}/messages`);
    expect(json.messages).toHaveLength(50);
    expect(json.next).toEqual(expect.any(String));
  });
});
