import { describe, expect, test } from "@jest/globals";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { useTestService } from "../../support/services/service.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const KEY = bearer("key-of-acme");

describe("users and chats of front ends", () => {
  const service = useTestService({ API_KEYS: "key-of-acme:acme", JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });

  async function ask(headers: Record<string, string>, fields: object = {}, apiKey = "key-of-acme"): Promise<void> {
    await openClient(service.url, { apiKey, headers }).chat.completions.create({ model: MODEL, messages: [says("hello")], ...fields });
  }
  const sessionsOf = async (user: string): Promise<string[]> =>
    (await listConversations(service.url, user, KEY)).map(({ session_id }) => session_id);

  const webui = (id: object, chat: string) => ({ ...id, "X-OpenWebUI-Chat-Id": chat });
  const libre = (user: string, chat: string) => ({ "X-User-Id": user, "X-Conversation-Id": chat });
  test.each<[what: string, headers: Record<string, string>, fields: object, user: string, session: string]>([
    ["Open WebUI", webui({ "X-OpenWebUI-User-Id": "w-1", "X-OpenWebUI-User-Email": "1@example.org" }, "chat-1"), {}, "w-1", "chat-1"],
    ["Open WebUI's address alone", webui({ "X-OpenWebUI-User-Email": "2@example.org" }, "chat-2"), {}, "2@example.org", "chat-2"],
    ["LibreChat", libre("libre-1", "convo-1"), {}, "libre-1", "convo-1"],
    ["LibreChat, which also sends the user in the body", libre("libre-2", "convo-2"), { user: "x" }, "libre-2", "convo-2"],
    ["a client of one's own", { "X-Session-Id": "s-1", "X-OpenWebUI-Chat-Id": "other" }, { user: "own-1" }, "own-1", "s-1"],
    ["metadata", {}, { user: "own-2", metadata: { session_id: "m-1" } }, "own-2", "m-1"],
    ["metadata of a chat", {}, { user: "own-3", metadata: { chat_id: "m-2" } }, "own-3", "m-2"],
    ["unresolved placeholders", { "X-User-Id": "{{LIBRECHAT_USER_ID}}", "X-Session-Id": "s-2" }, { user: "own-4" }, "own-4", "s-2"],
    ["UTF-8 in headers", { "X-Session-Id": Buffer.from("聊天").toString("latin1") }, { user: "李雷" }, "李雷", "聊天"],
  ])("are those of %s", async (_what, headers, fields, user, session) => {
    await ask(headers, fields);
    expect(await sessionsOf(user)).toEqual([session]);
  });

  test("are of the caller's own tenant, and a user there must be", async () => {
    expect(await failureOf(ask({ "X-Session-Id": "s" }))).toMatchObject({ status: 400, param: "user" });
    expect(await failureOf(ask({ "X-User-Id": "x".repeat(201) }))).toMatchObject({ status: 400, param: "X-User-Id" });
    expect(await failureOf(ask({ "X-Session-Id": "x".repeat(201) }, { user: "a" }))).toMatchObject({ status: 400, param: "X-Session-Id" });
  });

  test("are the token's, and a front end cannot make it another's", async () => {
    const token = secretToken({ sub: "tess", tenant: "acme" });
    await ask({ "X-Session-Id": "t-1" }, {}, token);
    await ask({ "X-Session-Id": "t-2", "X-User-Id": "tess" }, { user: "tess" }, token);
    expect((await sessionsOf("tess")).sort()).toEqual(["t-1", "t-2"]);
    for (const [headers, fields] of [
      [{ "X-OpenWebUI-User-Id": "w-1" }, {}],
      [{ "X-User-Email": "1@example.org" }, {}],
      [{}, { user: "libre-1" }],
      [{ "X-User-Id": "tess" }, { user: "libre-1" }],
    ] as [Record<string, string>, object][]) {
      expect(await failureOf(ask(headers, fields, token))).toMatchObject({ status: 403, type: "permission_error" });
    }
  });

  test("are told apart by their first message where a client names no chat", async () => {
    const chat = (...messages: object[]) => ask({}, { user: "unnamed", messages });
    const answer = { role: "assistant", content: "…" };
    await chat({ role: "system", content: "It is Monday" }, says("cookies?"));
    await chat({ role: "system", content: "It is Tuesday" }, says("cookies?"), answer, says("more butter?"));
    await chat(says("planes?"));
    const listed = await listConversations(service.url, "unnamed", KEY);
    expect(listed.map(({ message_count }) => message_count).sort()).toEqual([2, 4]);
    expect(listed.every(({ session_id }) => /^chat-[\w-]{43}$/.test(session_id))).toBe(true);
  });

  test("mean nothing anywhere else: /api/v1 takes user_id alone", async () => {
    const headers = { ...KEY, "X-User-Id": "libre-1" };
    expect((await postJson(`${service.url}/api/v1/chat`, { session_id: "s", message: "x" }, headers)).status).toBe(400);
  });
});
