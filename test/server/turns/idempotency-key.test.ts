import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { getTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WORDS = ["one ", "two ", "three ", "four "];

describe("an Idempotency-Key", () => {
  let running: ServiceWithModel;
  let url: string;
  let sessionId: string;
  let headers: { "idempotency-key": string };
  beforeAll(async () => {
    running = await openServiceWithModel();
    ({ url } = running);
  });
  afterAll(() => running.close());
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.answer({ tokens: WORDS });
    running.model.seen.splice(0);
  });

  const ask = (fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const send = (fields: object = {}): Promise<EventStreamResponse> => postTurn(url, ask(fields), { headers });
  const stored = async () => (await messagesOf(url, "ada", sessionId)).map(({ role, content, completed }) => [role, content, completed]);
  const told = ({ events }: EventStreamResponse) => events.map(({ id, data }) => ({ id, data }));
  const idOf = (response: { headers: Headers }): string => response.headers.get("x-turn-id") ?? "";

  test("makes a retry the same turn, streamed or whole", async () => {
    const first = await send();
    const again = await send();
    expect(told(again)).toEqual(told(first));
    const whole = await postJson(`${url}/api/v1/chat`, ask(), headers);
    expect(whole.json).toEqual(contentOf(first.events, "done"));
    expect(new Set([first, again, whole].map(idOf)).size).toBe(1);
    expect(running.model.seen).toHaveLength(1);
    expect(await stored()).toHaveLength(2);
  });

  test("takes a request that only spells the same differently for the same, and another for a mistake", async () => {
    const first = await send();
    const spelt = await postTurn(url, `{ "message": "hello", "debug": false, "session_id": "${sessionId}", "user_id": "ada" }`, {
      headers,
    });
    expect(idOf(spelt)).toBe(idOf(first));
    for (const fields of [{ message: "hello!" }, { session_id: "another" }, { agent_type: "chat_agent" }]) {
      expect(await send(fields)).toMatchObject({ status: 422, json: { error: { code: "idempotency_mismatch" } } });
    }
    expect(await stored()).toHaveLength(2);
  });

  test.each(["refuse", "enqueue"])("makes three requests at once one turn, with on_busy %s", async (on_busy) => {
    running.model.answer({ tokens: WORDS, betweenMs: 50 });
    const together = await Promise.all([send({ on_busy }), send({ on_busy }), send({ on_busy })]);
    expect(new Set(together.map(idOf)).size).toBe(1);
    for (const { events } of together) expect(tokenText(events)).toBe(WORDS.join(""));
    expect(running.model.seen).toHaveLength(1);
  });

  test("with another body is a mismatch while the first is on its way, too", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 50 });
    const [first, other] = await Promise.all([send(), send({ message: "something else" })]);
    expect([first.status, other.status].sort()).toEqual([200, 422]);
  });

  test("continues behind Last-Event-ID when the message is sent again", async () => {
    const first = await send();
    const rest = await postTurn(url, ask(), { headers: { ...headers, "last-event-id": first.events[2]?.id ?? "" } });
    expect(told(rest)).toEqual(told(first).slice(3));
  });

  test("tells another attempt from its first event, however far the client had come in the one that failed", async () => {
    running.model.answer({ tokens: WORDS.slice(0, 5), ending: "cut" });
    const failed = await send();
    running.model.answer({ tokens: ["other ", "words ", "altogether"] });
    const lastEventId = failed.events.at(-1)?.id ?? "";
    const again = await postTurn(url, ask(), { headers: { ...headers, "last-event-id": lastEventId } });
    expect(tokenText(again.events)).toBe("other words altogether");
    expect(again.events.map(({ id }) => id?.split(".")[0])).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("cancels when the last of its readers has left, and not before", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 150 });
    const leaves = (at: number) =>
      postTurn(url, ask(), { headers, onEvent: (_event, events) => (events.length === at ? "leave" : undefined) });
    const [, stays] = await Promise.all([leaves(2), send()]);
    expect(contentOf(stays.events, "done").completed).toBe(true);
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.answer({ tokens: WORDS, ending: "hang" });
    await Promise.all([leaves(2), leaves(4)]);
    await waitUntil("the partial answer", async () => (await stored()).length === 2);
    expect((await stored())[1]?.[2]).toBe(false);
  });

  test("runs a turn again whose failure a retry may mend, for the message that is stored", async () => {
    running.model.answer({ tokens: ["half "], ending: "cut" });
    const failed = await send();
    expect(contentOf(failed.events, "error").retryable).toBe(true);
    running.model.answer({ tokens: ["whole"] });
    const again = await send();
    expect(contentOf(again.events, "done")).toMatchObject({ answer: "whole", completed: true, receipt: { window_messages: 0 } });
    expect(idOf(again)).not.toBe(idOf(failed));
    expect(await stored()).toEqual([
      ["user", "hello", true],
      ["assistant", "half ", false],
      ["assistant", "whole", true],
    ]);
    const asked = running.model.seen.at(-1)?.body.messages.filter(({ content }) => content.includes("hello"));
    expect(asked).toHaveLength(1);
    expect(told(await send())).toEqual(told(again));
    expect((await getTurn(url, idOf(failed))).json).toMatchObject({
      state: "failed",
      message_id: (await getTurn(url, idOf(again))).json.message_id,
    });
  });

  test("replays a failure that a retry cannot mend", async () => {
    running.model.answer({ status: 401 });
    const failed = await send();
    expect(contentOf(failed.events, "error").retryable).toBe(false);
    running.model.answer({ tokens: WORDS });
    expect(told(await send())).toEqual(told(failed));
    expect(idOf(await postJson(`${url}/api/v1/chat`, ask(), headers))).toBe(idOf(failed));
    expect(await stored()).toHaveLength(1);
  });

  test("is refused as superseded when the conversation has gone on since the failure", async () => {
    running.model.answer({ status: 500 });
    await send();
    running.model.answer({ tokens: WORDS });
    await postTurn(url, ask({ message: "and now?" }));
    const refused = await send();
    expect(refused).toMatchObject({ status: 409, json: { error: { code: "turn_superseded" } } });
    expect(refused.json?.error.message).toMatch(/new Idempotency-Key/);
    expect(await stored()).toHaveLength(3);
  });

  test("tells whoever waited in line that no retry mends that the conversation has gone on", async () => {
    running.model.answer({ status: 500 });
    await send({ on_busy: "enqueue" });
    running.model.answer({ tokens: WORDS });
    await postTurn(url, ask({ message: "and now?" }));
    expect(contentOf((await send({ on_busy: "enqueue" })).events, "error")).toMatchObject({ code: "turn_superseded", retryable: false });
  });

  test("stays unused when its conversation is busy", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 200 });
    const other = postTurn(url, ask({ message: "another" }));
    await waitUntil("the other turn", async () => (await stored()).length === 1);
    expect(await send()).toMatchObject({ status: 409, json: { error: { code: "conversation_busy" } } });
    await other;
    running.model.answer({ tokens: WORDS });
    expect(contentOf((await send()).events, "done").receipt.window_messages).toBe(2);
  });

  test("is another one for another user", async () => {
    const ada = await send();
    const grace = await send({ user_id: "grace" });
    expect(idOf(grace)).not.toBe(idOf(ada));
    expect(grace.status).toBe(200);
  });

  test.each(["", " ", "two words", "ü", "x".repeat(201)])("of another form is refused: %p", async (key) => {
    const refused = await postTurn(url, ask(), { headers: { "idempotency-key": key } });
    expect(refused).toMatchObject({ status: 400, json: { error: { details: [{ field: "Idempotency-Key" }] } } });
  });
});
