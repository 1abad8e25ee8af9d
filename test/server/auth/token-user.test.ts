import { beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { addressOf, routesOfService, type AppRoute } from "../../support/clients/app-routes.ts";
import { callApi, listConversations, listMessages, postJson, putJson } from "../../support/clients/api-client.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { conversationItemId, responseId } from "../../../server/openai/responses/response-ids.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { useTestService } from "../../support/services/service.ts";
import { bearer, type Claims, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";

const KEY = bearer("key-of-default");
const MARKER = "ornithopter";
const tokenOf = (sub: string, claims: Claims = {}) => bearer(secretToken({ sub, ...claims }));

/** What concerns a tenant as a whole. */
const OF_THE_TENANT = [
  "GET /metrics",
  "GET /api/v1/jobs",
  "GET /api/v1/settings",
  "POST /api/v1/models/test",
  "GET /api/v1/users/:id/audit",
  "PUT /api/v1/knowledge/:kb",
  "DELETE /api/v1/knowledge/:kb",
  "POST /api/v1/knowledge/:kb/documents",
  "DELETE /api/v1/knowledge/:kb/documents/:document",
];

/** Searches whose body names nobody find nothing of others. */
const OF_EVERYBODY = [
  "store/namespaces",
  "assistants/search",
  "assistants/count",
  "assistants/:assistant_id/versions",
  "threads/search",
  "threads/count",
].map((path) => `POST /langgraph/${path}`);

describe("a token that names its user", () => {
  const ADA = tokenOf("ada");
  const EVE = tokenOf("eve");
  const service = useTestService({ JWT_SECRET, API_KEYS: "key-of-default:default", ENABLE_CORE_MEMORY: "true" }, IN_THIS_PROCESS);
  let routes: AppRoute[];
  let turn: TurnResult & { turnId: string };
  beforeAll(async () => {
    routes = await routesOfService(service.url);
    const body = { session_id: MARKER, message: `my ${MARKER}` };
    const answer = await postJson<TurnResult>(`${service.url}/api/v1/chat`, body, ADA);
    turn = { ...answer.json, turnId: answer.headers.get("x-turn-id") ?? "" };
    await putJson(`${service.url}/api/v1/users/ada/core-memory/profile`, { content: `an ${MARKER} pilot` }, ADA);
    expect((await putJson(`${service.url}/api/v1/knowledge/hangar`, { description: "flying machines" }, KEY)).status).toBe(201);
  });

  const api = (path: string, headers: Record<string, string>, method = "GET") =>
    callApi(`${service.url}/api/v1${path}`, { method, headers });
  const nameOf = ({ method, path }: AppRoute): string => `${method} ${path}`;

  test("needs no user id in a body or a query", async () => {
    const stream = await postTurn(service.url, { session_id: "streamed", message: "hello" }, { headers: tokenOf("bob") });
    expect(stream.status).toBe(200);
    const history = { session_id: "imported", messages: [{ role: "user", content: "from elsewhere" }] };
    expect((await postJson(`${service.url}/api/v1/conversations/import`, history, tokenOf("bob"))).status).toBe(200);
    const listed = await callApi<{ conversations: object[] }>(`${service.url}/api/v1/conversations`, { headers: tokenOf("bob") });
    expect(listed.json.conversations).toEqual(await listConversations(service.url, "bob", KEY));
    expect(listed.json.conversations).toHaveLength(2);
  });

  test("may come with the same user id, and is refused with 403 for any other, with nothing stored", async () => {
    const body = { user_id: "bob", session_id: "s", message: "hi", messages: [{ role: "user", content: "x" }] };
    const { messages, ...chat } = body;
    expect((await postJson(`${service.url}/api/v1/chat`, { ...chat, user_id: "zoe" }, tokenOf("zoe"))).status).toBe(200);
    const refusal = { status: 403, code: "forbidden", says: /user_id/ };
    for (const user_id of ["zoe", "Bob", "bob ", "bo\u0301b", ""]) {
      expectRefusal(await postJson(`${service.url}/api/v1/chat`, { ...chat, user_id }, tokenOf("bob")), refusal);
      expectRefusal(await postJson(`${service.url}/api/v1/chat/stream`, { ...chat, user_id }, tokenOf("bob")), refusal);
      const history = { user_id, session_id: "s", messages };
      expectRefusal(await postJson(`${service.url}/api/v1/conversations/import`, history, tokenOf("bob")), refusal);
      expectRefusal(await api(`/conversations?user_id=${encodeURIComponent(user_id)}`, tokenOf("bob")), refusal);
    }
    expect(await listConversations(service.url, "zoe", KEY)).toHaveLength(1);
  });

  test("is refused when the user_id beside it is no text or is given twice", async () => {
    const invalid = { status: 400, code: "invalid_request" };
    for (const user_id of [7, null, ["ada"], { $ne: "" }])
      expectRefusal(await postJson(`${service.url}/api/v1/chat`, { user_id, session_id: "s", message: "hi" }, EVE), invalid);
    for (const body of [[], "ada", 7, null]) expect((await postJson(`${service.url}/api/v1/chat`, body, EVE)).status).toBe(400);
    expectRefusal(await api("/conversations?user_id=eve&user_id=ada", EVE), invalid);
  });

  test("shows nothing of another user and changes nothing there, on any route", async () => {
    const ids = {
      id: "ada",
      kb: "hangar",
      section: "profile",
      episode: turn.message_id,
      document: turn.message_id,
      thread_id: turn.conversation_id,
      run_id: turn.turnId,
      assistant_id: "assistant",
    };
    const idOf = { "/turns/": turn.turnId, "/api/v1/conversations/": turn.conversation_id };
    const idOfOpenAI = {
      "/v1/responses/": responseId({ turnId: turn.turnId, leg: 1 }),
      "/v1/conversations/": conversationItemId(turn.conversation_id),
    };
    const owned = (path: string): string => Object.entries({ ...idOf, ...idOfOpenAI }).find(([part]) => path.includes(part))?.[1] ?? "ada";
    const messages = [{ role: "user", content: "mine now" }];
    const body = { user_id: "ada", user: "ada", metadata: { user_id: "ada" }, session_id: MARKER, message: "mine now", messages };
    const context = { user_id: "ada" };
    const run = { assistant_id: "assistant", input: { messages: [{ type: "human", content: "mine now" }] }, context };
    const bodies: Record<string, object> = {
      "/items": { items: messages },
      "/answers": { question_id: turn.message_id, answer: "deny" },
      "/revert": { version: 1 },
      "/active-branch": { branch_id: turn.message_id },
      "/snapshots": { label: "here" },
      "/fork": { session_id: MARKER },
    };
    for (const route of routes) {
      const own = route.method === "PATCH" ? { pinned: true } : bodies[route.path.slice(route.path.lastIndexOf("/"))];
      const sent = JSON.stringify(/\/runs\b/.test(route.path) ? run : (own ?? body));
      const init = route.method === "GET" ? {} : { body: sent, headers: { "content-type": "application/json", ...EVE } };
      const address = `${addressOf(route, { ...ids, id: owned(route.path) }, turn.message_id)}?user_id=ada&query=${MARKER}`;
      const response = await fetch(service.url + address, { method: route.method, headers: EVE, ...init });
      const text = await response.text();
      const name = nameOf(route);
      expect({ name, text }).toMatchObject({ text: expect.not.stringContaining(MARKER) });
      if (OF_THE_TENANT.includes(name)) expect({ name, status: response.status }).toEqual({ name, status: 403 });
      else if (/\/(users|conversations|turns|responses|threads)\/:/.test(route.path))
        expect({ name, status: response.status }).toEqual({ name, status: 404 });
      else if (OF_EVERYBODY.includes(name)) expect({ name, status: response.status }).toEqual({ name, status: 200 });
      else if (route.method !== "GET") expect({ name, refused: [400, 403].includes(response.status) }).toEqual({ name, refused: true });
    }
    expect(await listMessages(service.url, turn.conversation_id, ADA)).toHaveLength(2);
    expect((await api("/users/ada/core-memory", ADA)).text).toContain(MARKER);
    expect((await api("/knowledge/hangar", KEY)).status).toBe(200);
  });

  test("may do with its own user's data what a key may do", async () => {
    expect((await api(`/conversations/${turn.conversation_id}/messages`, ADA)).status).toBe(200);
    expect((await api("/users/ada/memory-operations", ADA)).status).toBe(200);
    const gone = await postJson<TurnResult>(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, tokenOf("gone"));
    expect((await api(`/conversations/${gone.json.conversation_id}`, tokenOf("gone"), "DELETE")).status).toBe(200);
    expect((await api("/users/gone", tokenOf("gone"), "DELETE")).status).toBe(200);
  });

  test.each(["read", "write", "admin"])("with the scope %s may do exactly what this scope allows", async (scope) => {
    const headers = tokenOf("sam", { scope });
    const chat = await postJson(`${service.url}/api/v1/chat`, { user_id: "sam", session_id: "s", message: "hi" }, headers);
    expect(chat.status).toBe(scope === "read" ? 403 : 200);
    expect((await api("/conversations?user_id=sam", headers)).status).toBe(200);
    const isAdmin = scope === "admin";
    expect((await api("/conversations?user_id=ada", headers)).status).toBe(isAdmin ? 200 : 403);
    expect((await api(`/conversations/${turn.conversation_id}/messages`, headers)).status).toBe(isAdmin ? 200 : 404);
    expect((await api("/users/ada/core-memory", headers)).status).toBe(isAdmin ? 200 : 404);
    expect((await api("/jobs", headers)).status).toBe(isAdmin ? 200 : 403);
    expect((await api("/jobs/retry", headers, "POST")).status).toBe(isAdmin ? 200 : 403);
  });

  test("is refused with a hint when its text is neither a key nor a token", async () => {
    for (const text of ["key-of-defaul", "a.b", "a.b.c.d", "...", "ey J.x.y"]) {
      const refused = await api("/conversations?user_id=ada", bearer(text));
      expectRefusal(refused, { status: 401, code: "unauthorized", says: /needs a key or a token/ });
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    }
    expectRefusal(await api("/conversations", bearer("a.b.c")), { status: 401, code: "unauthorized", says: /none that this service can/ });
  });
});
