import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { streamTurn } from "../../support/clients/turn-client.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

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

  test("is listed with its mark, exported, told again behind what a client has had, and erased", async () => {
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

  test("may leave out its session, also with a key, and then has a conversation of its own", async () => {
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
