import { beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { parseConfig } from "../../../server/settings/config.ts";
import { callApi, listConversations, listMessages, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { coreMemoryApi } from "../../support/services/service-with-core-memory.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { bearer, JWT_SECRET } from "../../servers/token-issuer.ts";
import { apiKeysOf, keyOf, tokenOf } from "./tenant-world.ts";

const ACME = bearer(keyOf("acme"));
const CORP = bearer(keyOf("acme-corp"));

describe("a stranger, of another tenant or another user,", () => {
  const settings = { API_KEYS: apiKeysOf(["acme", "acme-corp"]), JWT_SECRET, JWT_TENANT_CLAIM: "tenant", ENABLE_CORE_MEMORY: "true" };
  const running = useServiceWithModel(settings);
  beforeEach(() => running.model.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content ?? ""] })));

  const strangers = [CORP, tokenOf("acme", "Ada"), tokenOf("acme", "ad"), tokenOf("acme-corp", "ada")];

  test("sees a running turn as one that never was, and the turn runs on", async () => {
    const gate = Promise.withResolvers<void>();
    running.model.answer(() => ({ tokens: ["the ", "end"], until: gate.promise }));
    const body = { user_id: "ada", session_id: "slow", message: "a secret", on_disconnect: "continue" };
    const headers = { "content-type": "application/json", ...ACME };
    const asked = await fetch(`${running.url}/api/v1/chat/stream`, { method: "POST", headers, body: JSON.stringify(body) });
    const turnId = asked.headers.get("x-turn-id") ?? "";
    for (const headers of strangers) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/stream"],
        ["POST", "/cancel"],
      ] as const) {
        const answer = await callApi(`${running.url}/api/v1/turns/${turnId}${path}`, {
          method,
          headers: { ...headers, "last-event-id": "1.0" },
        });
        expectRefusal(answer, { status: 404, code: "not_found", says: new RegExp(`no turn ${turnId}`) });
      }
    }
    for (const headers of [ACME, tokenOf("acme", "ada")])
      expect((await callApi<{ state: string }>(`${running.url}/api/v1/turns/${turnId}`, { headers })).json.state).toBe("running");
    gate.resolve();
    expect(await asked.text()).toContain('"the end"');
  });

  test("gets a turn of its own under the same key", async () => {
    const askers: [string, Record<string, string>][] = [
      ["ada", ACME],
      ["ada", CORP],
      ["Ada", ACME],
      ["ada ", ACME],
      ["bob", tokenOf("acme", "bob")],
      ["ada", tokenOf("acme-corp2", "ada")],
    ];
    const keyed = (user_id: string, headers: Record<string, string>, message: string) =>
      postTurn(running.url, { user_id, session_id: "keyed", message }, { headers: { ...headers, "idempotency-key": "the-same" } });
    const turns = await Promise.all(askers.map(([user, headers], number) => keyed(user, headers, `message ${number}`)));
    expect(turns.map(({ status }) => status)).toEqual(askers.map(() => 200));
    const done = turns.map(({ events }) => contentOf(events, "done"));
    expect(new Set(done.map(({ conversation_id }) => conversation_id)).size).toBe(askers.length);
    for (const [number, [user, headers]] of askers.entries()) {
      const again = await keyed(user, headers, `message ${number}`);
      expect(contentOf(again.events, "done").message_id).toBe(done[number]?.message_id);
      expect((await keyed(user, headers, "another")).status).toBe(422);
    }
  });

  test("cannot go on with a turn by its id as a response", async () => {
    const ask = (body: object, headers: Record<string, string>) =>
      postJson<{ id: string }>(`${running.url}/v1/responses`, { input: "hello", ...body }, headers);
    const { id } = (await ask({ user: "ada" }, ACME)).json;
    for (const headers of strangers) {
      const refused = await ask({ previous_response_id: id }, headers);
      expect({ status: refused.status, text: refused.text }).toMatchObject({
        status: 400,
        text: expect.stringContaining("previous_response_not_found"),
      });
    }
    expect((await ask({ previous_response_id: id }, tokenOf("acme", "ada"))).status).toBe(200);
  });

  test("has conversations of its own in OpenAI's protocol, even for the same session and a user that looks alike", async () => {
    const complete = (user: string, headers: Record<string, string>) => {
      const body = { model: "conversation-graph", user, messages: [{ role: "user", content: `I am "${user}"` }] };
      return postJson<TurnResult>(`${running.url}/v1/chat/completions`, body, { ...headers, "x-session-id": "chat" });
    };
    const users = ["eve", "eve ", " eve", "Eve", "\u0435ve", "eve\u200b"];
    for (const user of users) expect((await complete(user, ACME)).status).toBe(200);
    expect((await complete("eve", CORP)).status).toBe(200);
    const ids: string[] = [];
    for (const [user, headers] of [...users.map((one) => [one, ACME] as const), ["eve", CORP] as const]) {
      const [conversation, ...others] = await listConversations(running.url, user, headers);
      expect({ user, session: conversation?.session_id, others }).toEqual({ user, session: "chat", others: [] });
      ids.push(conversation?.id ?? "");
      expect((await listMessages(running.url, conversation?.id ?? "", headers))[0]?.content).toBe(`I am "${user}"`);
    }
    expect(new Set(ids).size).toBe(users.length + 1);
  });

  test("cannot write, revert or remove the user's core memory", async () => {
    const api = coreMemoryApi(running.url);
    const put = (user: string, headers: Record<string, string>, content: string) => api.put(user, "goals", { content }, headers);
    const read = async (user: string, headers: Record<string, string>) =>
      (await api.read(user, headers)).map(({ content, version }) => [content, version]);
    for (const content of ["first", "second"]) expect((await put("kim", ACME, content)).status).toBe(200);
    expect((await api.revert("kim", "goals", { version: 1 }, CORP)).status).toBe(404);
    expect((await api.revert("KIM", "goals", { version: 1 }, ACME)).status).toBe(404);
    for (const headers of strangers) expect((await api.remove("kim", "goals", headers)).status).toBe(404);
    expect((await put("kim", CORP, "theirs")).status).toBe(200);
    expect((await put("kim", tokenOf("acme", "Kim"), "theirs")).status).toBe(404);
    expect(await read("kim", ACME)).toEqual([["second", 2]]);
    expect(await read("kim", CORP)).toEqual([["theirs", 1]]);
    expect(await read("KIM", ACME)).toEqual([]);
  });

  test("does not see the turn among the last turns of the status", async () => {
    const count = async (headers: Record<string, string>): Promise<number> =>
      (await callApi<{ turns: unknown[] }>(`${running.url}/api/v1/status`, { headers })).json.turns.length;
    expect(await count(tokenOf("nobodys", "ada"))).toBe(0);
    const [acme, corp, kim] = [await count(ACME), await count(CORP), await count(tokenOf("acme", "kim"))];
    await postJson(`${running.url}/api/v1/chat`, { user_id: "kim", session_id: "s", message: "hi" }, ACME);
    expect([await count(ACME), await count(CORP), await count(tokenOf("acme", "kim"))]).toEqual([acme + 1, corp, kim + 1]);
  });
});

test.each(["%", "acme%", "ac me", "acme/corp", "acm\u00e9", "acme'", "", "a".repeat(65)])("no key is of a tenant named %j", (tenant) => {
  expect(() => parseConfig({ API_KEYS: `key-of-it:${tenant}` })).toThrow(expect.objectContaining({ code: "invalid_configuration" }));
});
