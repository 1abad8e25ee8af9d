import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WORDS = Array.from({ length: 20 }, (_, index) => `word${index} `);
const NOBODY = "00000000-0000-7000-8000-000000000000";

describe("a turn as a resource", () => {
  let running: ServiceWithModel;
  let url: string;
  beforeAll(async () => {
    running = await openServiceWithModel();
    ({ url } = running);
  });
  afterAll(() => running.close());

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const idOf = ({ headers }: EventStreamResponse): string => headers.get("x-turn-id") ?? "";

  /** Leaves after the fourth event a turn that goes on. */
  async function leave(sessionId: string, fields: object = { on_disconnect: "continue" }): Promise<EventStreamResponse> {
    return postTurn(url, ask(sessionId, fields), { onEvent: (_event, events) => (events.length === 4 ? "leave" : undefined) });
  }

  test("tells when it is done what its last event said, but the text, and which messages it has", async () => {
    running.model.answer({ tokens: ["Hi ", "there."] });
    const response = await postTurn(url, ask("done"));
    const done = contentOf(response.events, "done");
    const { status, json } = await getTurn(url, idOf(response));
    expect(status).toBe(200);
    const [question, answer] = await messagesOf(url, "ada", "done");
    expect(json).toMatchObject({
      id: question?.metadata["turn_id"],
      state: "done",
      conversation_id: done.conversation_id,
      message_id: question?.id,
      answer_message_id: answer?.id,
      completed: true,
      error: null,
      route_decision: contentOf(response.events, "route_decision"),
      receipt: done.receipt,
      usage: done.usage,
      degraded: [],
      notices: [],
      timings: { first_token_ms: done.timings.first_token_ms },
    });
    expect(JSON.stringify(json)).not.toContain("there.");
  });

  test("tells of a failure its code", async () => {
    running.model.answer({ status: 401 });
    const response = await postTurn(url, ask("failed"));
    expect((await getTurn(url, idOf(response))).json).toMatchObject({ state: "failed", error: contentOf(response.events, "error") });
  });

  test("goes on behind the last event, from memory while it runs and when it has ended", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const broken = await leave("resume");
    expect((await getTurn(url, idOf(broken))).json).toMatchObject({ state: "running", ended_at: null, answer_message_id: null });
    const lastEventId = broken.events.at(-1)?.id;
    const rest = await streamTurn(url, idOf(broken), { lastEventId });
    expect(idOf(rest)).toBe(idOf(broken));
    expect(tokenText(broken.events) + tokenText(rest.events)).toBe(WORDS.join(""));
    expect(rest.events.length).toBe(WORDS.length + 2 - 4);
    const later = await streamTurn(url, idOf(broken), { lastEventId });
    expect(later.events).toEqual(rest.events);
    const whole = await streamTurn(url, idOf(broken));
    expect(whole.events.map(({ data }) => data.status)).toEqual(["route_decision", ...WORDS.map(() => "token"), "done"]);
    expect(whole.events.slice(0, 4).map(({ id }) => id)).toEqual(broken.events.map(({ id }) => id));
  });

  test("is not cancelled by a reader of its stream that leaves", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const broken = await leave("reader leaves");
    const leaving = new AbortController();
    const read = streamTurn(url, idOf(broken), { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 100);
    await expect(read).rejects.toThrow();
    expect(contentOf((await streamTurn(url, idOf(broken))).events, "done").completed).toBe(true);
  });

  test("whose client leaves is not cancelled while another reads it", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 50 });
    const { promise: isRead, resolve } = Promise.withResolvers<void>();
    const first = postTurn(url, ask("read by two"), {
      onEvent: (_event, events) => {
        if (events.length === 3) resolve();
        return events.length === 8 ? "leave" : undefined;
      },
    });
    await isRead;
    const [question] = await messagesOf(url, "ada", "read by two");
    const other = streamTurn(url, String(question?.metadata["turn_id"]));
    await first;
    expect(contentOf((await other).events, "done").answer).toBe(WORDS.join(""));
  });

  test("is cancelled at once; its stream ends with its last event and the partial answer is kept", async () => {
    running.model.answer({ tokens: ["half "], ending: "hang" });
    let cancelled: ReturnType<typeof cancelTurn> | undefined;
    const response = await postTurn(url, ask("cancel"), {
      onEvent: ({ data }) => {
        if (data.status === "token")
          cancelled = messagesOf(url, "ada", "cancel").then(([question]) => cancelTurn(url, String(question?.metadata["turn_id"])));
      },
    });
    expect((await cancelled)?.json).toEqual({ turn_id: idOf(response), cancelled: true });
    expect(contentOf(response.events, "error")).toMatchObject({ code: "turn_cancelled", retryable: true });
    expect((await messagesOf(url, "ada", "cancel"))[1]).toMatchObject({ content: "half ", completed: false });
    expect((await cancelTurn(url, idOf(response))).json).toEqual({ turn_id: idOf(response), cancelled: false });
    const stored = await streamTurn(url, idOf(response));
    expect([tokenText(stored.events), contentOf(stored.events, "error").code]).toEqual(["half ", "turn_cancelled"]);
  });

  test("that waits in line can be read and cancelled, and leaves no record", async () => {
    running.model.answer({ tokens: ["half "], ending: "hang" });
    const first = postTurn(url, ask("line"), {});
    const [question] = await waitUntil("the first turn", async () => {
      const messages = await messagesOf(url, "ada", "line");
      return messages.length > 0 ? messages : undefined;
    });
    const waiting = await fetch(`${url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(ask("line", { on_busy: "enqueue" })),
    });
    const waitingId = waiting.headers.get("x-turn-id") ?? "";
    expect((await getTurn(url, waitingId)).json).toMatchObject({ state: "running", conversation_id: null });
    expect((await cancelTurn(url, waitingId)).json.cancelled).toBe(true);
    expect(await waiting.text()).toContain("turn_cancelled");
    expect((await getTurn(url, waitingId)).status).toBe(404);
    await cancelTurn(url, String(question?.metadata["turn_id"]));
    await first;
  });

  test.each(["", "/stream"])("is 404 when there is none, 400 when its id or the place in its events is none: %p", async (route) => {
    expect((await callApi(`${url}/api/v1/turns/${NOBODY}${route}`)).status).toBe(404);
    expect((await callApi(`${url}/api/v1/turns/nonsense${route}`)).status).toBe(400);
    if (route) expect((await streamTurn(url, NOBODY, { lastEventId: "7" })).json?.error.message).toContain("Last-Event-ID");
  });

  test("is gone with its user, however much of it is still in memory", async () => {
    running.model.answer({ tokens: ["a secret"] });
    const response = await postTurn(url, { ...ask("erased"), user_id: "grace" });
    await callApi(`${url}/api/v1/users/grace`, { method: "DELETE" });
    for (const route of ["", "/stream"]) expect((await callApi(`${url}/api/v1/turns/${idOf(response)}${route}`)).status).toBe(404);
  });

  test("names itself also when /chat answers with its failure", async () => {
    running.model.answer({ status: 500 });
    const failed = await postJson(`${url}/api/v1/chat`, ask("chat failed"));
    expect(failed.status).toBe(503);
    expect((await getTurn(url, failed.headers.get("x-turn-id") ?? "")).json.state).toBe("failed");
  });
});

test("a turn and a key of one tenant are nothing in another", async () => {
  const running = await openServiceWithModel({ API_KEYS: "key-a:acme,key-b:acme-corp" });
  const as = (key: string) => ({ authorization: `Bearer ${key}`, "idempotency-key": "the-same" });
  const body = { user_id: "ada", session_id: "s", message: "hello" };
  const [mine, theirs] = [
    await postTurn(running.url, body, { headers: as("key-a") }),
    await postTurn(running.url, body, { headers: as("key-b") }),
  ];
  const [id, other] = [mine, theirs].map(({ headers }) => headers.get("x-turn-id") ?? "");
  expect(id).not.toBe(other);
  const asked = ["GET /", "GET /stream", "POST /cancel"].map(async (route) => {
    const [method = "", path = ""] = route.split(" /");
    const address = `${running.url}/api/v1/turns/${id}${path && `/${path}`}`;
    return (await callApi(address, { method, headers: as("key-b") })).status;
  });
  expect(await Promise.all(asked)).toEqual([404, 404, 404]);
  expect((await getTurn(running.url, id ?? "", as("key-a"))).json.state).toBe("done");
  await running.close();
});
