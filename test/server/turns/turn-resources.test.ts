import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { bearer, JWT_SECRET } from "../../servers/token-issuer.ts";
import { tokenOf } from "../../hard/tenants/tenant-world.ts";

const WORDS = Array.from({ length: 20 }, (_, index) => `word${index} `);
const NOBODY = "00000000-0000-7000-8000-000000000000";

let running: ServiceWithModel;
let url: string;
beforeEach(() => {
  running.model.seen.splice(0);
});

const bodyOf = (sessionId: string, fields: object = {}) => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
const idOf = ({ headers }: { headers: Headers }): string => headers.get("x-turn-id") ?? "";

describe("a turn as a resource", () => {
  beforeAll(async () => {
    running = await openServiceWithModel();
    ({ url } = running);
  });
  afterAll(() => running.close());

  /** Leaves after the fourth event a turn that goes on. */
  const leave = (sessionId: string): Promise<EventStreamResponse> =>
    postTurn(url, bodyOf(sessionId, { on_disconnect: "continue" }), {
      onEvent: (_event, events) => (events.length === 4 ? "leave" : undefined),
    });

  test("shows after its end what its last event said except the text, and the ids of its messages", async () => {
    running.model.answer({ tokens: ["Hi ", "there."] });
    const response = await postTurn(url, bodyOf("done"));
    const { conversation_id, receipt, usage, timings } = contentOf(response.events, "done");
    const { status, json } = await getTurn(url, idOf(response));
    expect(status).toBe(200);
    const [question, answer] = await messagesOf(url, "ada", "done");
    expect(json).toMatchObject({
      id: question?.metadata["turn_id"],
      state: "done",
      conversation_id,
      receipt,
      usage,
      completed: true,
      error: null,
      message_id: question?.id,
      answer_message_id: answer?.id,
      degraded: [],
      notices: [],
      route_decision: contentOf(response.events, "route_decision"),
      timings: { first_token_ms: timings.first_token_ms },
    });
    expect(JSON.stringify(json)).not.toContain("there.");
  });

  test.each([
    ["the stream ends with it", 401],
    ["/chat answers with it", 500],
  ])("shows the code of its failure when %s", async (how, status) => {
    running.model.answer({ status });
    const path = how.startsWith("/chat") ? "/api/v1/chat" : "/api/v1/chat/stream";
    const response = await postTurn(url, bodyOf(how), { path });
    const error = response.json?.error ?? contentOf(response.events, "error");
    expect(response.status).toBe(response.json ? 503 : 200);
    expect((await getTurn(url, idOf(response))).json).toMatchObject({ state: "failed", error });
  });

  test("can be read on after the last event, while it runs and after its end", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const broken = await leave("resume");
    expect((await getTurn(url, idOf(broken))).json).toMatchObject({ state: "running", ended_at: null, answer_message_id: null });
    const lastEventId = broken.events.at(-1)?.id;
    const rest = await streamTurn(url, idOf(broken), { lastEventId });
    expect(idOf(rest)).toBe(idOf(broken));
    expect(tokenText(broken.events) + tokenText(rest.events)).toBe(WORDS.join(""));
    expect(rest.events.length).toBe(WORDS.length + 2 - broken.events.length);
    expect((await streamTurn(url, idOf(broken), { lastEventId })).events).toEqual(rest.events);
    const whole = await streamTurn(url, idOf(broken));
    expect(whole.events.map(({ data }) => data.status)).toEqual(["route_decision", ...WORDS.map(() => "token"), "done"]);
    expect(whole.events.slice(0, broken.events.length).map(({ id }) => id)).toEqual(broken.events.map(({ id }) => id));
  });

  test("goes on when a reader of its stream leaves", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const turnId = idOf(await leave("reader leaves"));
    await expect(streamTurn(url, turnId, { signal: AbortSignal.timeout(100) })).rejects.toThrow();
    expect(contentOf((await streamTurn(url, turnId)).events, "done").completed).toBe(true);
  });

  test("can be cancelled at once, and its stream then ends and its half answer is kept", async () => {
    running.model.answer({ tokens: ["half "], ending: "hang" });
    const { promise: spoken, resolve } = Promise.withResolvers<void>();
    const onEvent = ({ data }: { data: { status: string } }) => void (data.status === "token" && resolve());
    const { turnId, ended } = await beginTurn(url, bodyOf("cancel"), { onEvent });
    await spoken;
    expect((await cancelTurn(url, turnId)).json).toEqual({ turn_id: turnId, cancelled: true });
    expect(contentOf((await ended).events, "error")).toMatchObject({ code: "turn_cancelled", retryable: true });
    expect((await messagesOf(url, "ada", "cancel"))[1]).toMatchObject({ content: "half ", completed: false });
    expect((await cancelTurn(url, turnId)).json).toEqual({ turn_id: turnId, cancelled: false });
    const stored = await streamTurn(url, turnId);
    expect([tokenText(stored.events), contentOf(stored.events, "error").code]).toEqual(["half ", "turn_cancelled"]);
  });

  test("can be read and cancelled while it waits in line, and leaves no record", async () => {
    running.model.answer({ tokens: ["half "], ending: "hang" });
    const first = await beginTurn(url, bodyOf("line"));
    const waiting = await beginTurn(url, bodyOf("line", { on_busy: "enqueue" }));
    expect((await getTurn(url, waiting.turnId)).json).toMatchObject({ state: "running", conversation_id: null });
    expect((await cancelTurn(url, waiting.turnId)).json.cancelled).toBe(true);
    expect(contentOf((await waiting.ended).events, "error").code).toBe("turn_cancelled");
    expect((await getTurn(url, waiting.turnId)).status).toBe(404);
    await cancelTurn(url, first.turnId);
    await first.ended;
  });

  test.each(["", "/stream"])("answers 404 for an unknown id, and 400 for a wrong id or place, at the route %p", async (route) => {
    expect((await callApi(`${url}/api/v1/turns/${NOBODY}${route}`)).status).toBe(404);
    expect((await callApi(`${url}/api/v1/turns/nonsense${route}`)).status).toBe(400);
    if (route) expect((await streamTurn(url, NOBODY, { lastEventId: "7" })).json?.error.message).toContain("Last-Event-ID");
  });

  test("is gone when its user is erased, even when it is still in memory", async () => {
    running.model.answer({ tokens: ["a secret"] });
    const { json, headers } = await postJson<{ answer: string }>(`${url}/api/v1/chat`, { ...bodyOf("erased"), user_id: "grace" });
    expect(json.answer).toBe("a secret");
    await callApi(`${url}/api/v1/users/grace`, { method: "DELETE" });
    for (const route of ["", "/stream"]) expect((await callApi(`${url}/api/v1/turns/${idOf({ headers })}${route}`)).status).toBe(404);
  });
});

describe("a turn of a user with a token", () => {
  const ada = tokenOf("default", "ada");
  beforeAll(async () => {
    running = await openServiceWithModel({ JWT_SECRET, API_KEYS: "key-of-default:default,key-of-other:other" });
    ({ url } = running);
  });
  afterAll(() => running.close());

  test.each([
    ["another user's token", tokenOf("default", "eve")],
    ["a token of the same name in other letters", tokenOf("default", "Ada")],
    ["the key of another tenant", bearer("key-of-other")],
  ])("does not exist for %s, whether it runs, waits in line or is done", async (_who, headers) => {
    const routes = ["GET ", "GET /stream", "POST /cancel"].map((route) => route.split(" "));
    const call = async (turnId: string, [method = "", path = ""]: string[], as: Record<string, string>) => {
      const { status, text } = await callApi(`${url}/api/v1/turns/${turnId}${path}`, { method, headers: as });
      return { status, text: text.replaceAll(turnId, "id") };
    };
    async function expectNothing(turnId: string): Promise<void> {
      for (const route of routes) {
        const none = await call(uuidv7(), route, headers);
        expect(none.status).toBe(404);
        expect(await call(turnId, route, headers)).toEqual(none);
      }
    }
    const release = running.model.hold(["a secret"]);
    const sessionId = uuidv7();
    const turns = [];
    for (const on_busy of ["refuse", "enqueue"]) turns.push(await beginTurn(url, bodyOf(sessionId, { on_busy }), { headers: ada }));
    for (const { turnId } of turns) await expectNothing(turnId);
    release();
    for (const { turnId, ended } of turns) {
      expect(contentOf((await ended).events, "done").completed).toBe(true);
      await expectNothing(turnId);
      for (const mine of [ada, bearer("key-of-default")]) expect((await getTurn(url, turnId, mine)).json).toMatchObject({ state: "done" });
    }
  });
});
