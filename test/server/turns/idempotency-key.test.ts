import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { getTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WORDS = ["one ", "two ", "three ", "four "];

describe("an Idempotency-Key", () => {
  const running = useServiceWithModel();
  let url: string;
  let sessionId: string;
  let headers: { "idempotency-key": string };
  beforeAll(async () => {
    ({ url } = running);
  });
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.answer({ tokens: WORDS });
    running.model.seen.splice(0);
  });

  const ask = (fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const send = (fields: object = {}, more: Record<string, string> = {}): Promise<EventStreamResponse> =>
    postTurn(url, ask(fields), { headers: { ...headers, ...more } });
  const stored = async () => (await messagesOf(url, "ada", sessionId)).map(({ content, completed }) => [content, completed]);
  const told = ({ events }: EventStreamResponse) => events.map(({ id, data }) => ({ id, data }));
  const idOf = (response: { headers: Headers }): string => response.headers.get("x-turn-id") ?? "";
  const refusal = (status: number, code: string) => ({ status, json: { error: { code } } });

  test("makes a retry the same turn, streamed, whole or behind Last-Event-ID", async () => {
    const first = await send();
    const again = await send();
    expect(told(again)).toEqual(told(first));
    const whole = await postJson(`${url}/api/v1/chat`, ask(), headers);
    expect(whole.json).toEqual(contentOf(first.events, "done"));
    const rest = await send({}, { "last-event-id": first.events[2]?.id ?? "" });
    expect(told(rest)).toEqual(told(first).slice(3));
    expect(new Set([first, again, whole, rest].map(idOf)).size).toBe(1);
    expect(running.model.seen).toHaveLength(1);
    expect(await stored()).toHaveLength(2);
  });

  test("takes a request that only spells the same differently for the same, and another for a mistake", async () => {
    const first = await send();
    const spelt = `{ "message": "hello", "debug": false, "session_id": "${sessionId}", "user_id": "ada" }`;
    expect(idOf(await postTurn(url, spelt, { headers }))).toBe(idOf(first));
    for (const fields of [{ message: "hello!" }, { session_id: "another" }, { agent_type: "chat_agent" }])
      expect(await send(fields)).toMatchObject(refusal(422, "idempotency_mismatch"));
    expect(await stored()).toHaveLength(2);
  });

  test("with another body is a mismatch while the first is on its way, too", async () => {
    const [first, other] = await Promise.all([send(), send({ message: "something else" })]);
    expect([first.status, other.status].sort()).toEqual([200, 422]);
  });

  test("tells another attempt from its first event, however far the client had come in the one that failed", async () => {
    running.model.answer({ tokens: WORDS, ending: "cut" });
    const failed = await send();
    running.model.answer({ tokens: ["other ", "words ", "altogether"] });
    const again = await send({}, { "last-event-id": failed.events.at(-1)?.id ?? "" });
    expect(tokenText(again.events)).toBe("other words altogether");
    expect(again.events.map(({ id }) => id?.split(".")[0])).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("cancels when the last of its readers has left, and not before", async () => {
    const leaves = (at: number) =>
      postTurn(url, ask(), { headers, onEvent: (_event, events) => (events.length === at ? "leave" : undefined) });
    running.model.answer({ tokens: WORDS, betweenMs: 150 });
    const [, stays] = await Promise.all([leaves(2), send()]);
    expect(contentOf(stays.events, "done").completed).toBe(true);
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.answer({ tokens: WORDS, ending: "hang" });
    await Promise.all([leaves(2), leaves(4)]);
    await waitUntil("the partial answer", async () => (await stored()).length === 2);
    expect((await stored())[1]?.[1]).toBe(false);
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
      ["hello", true],
      ["half ", false],
      ["whole", true],
    ]);
    expect(running.model.seen.at(-1)?.body.messages.filter(({ content }) => content.includes("hello"))).toHaveLength(1);
    expect(told(await send())).toEqual(told(again));
    const { message_id } = (await getTurn(url, idOf(again))).json;
    expect((await getTurn(url, idOf(failed))).json).toMatchObject({ state: "failed", message_id });
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

  test.each(["refuse", "enqueue"])("is refused as superseded when the conversation has gone on, with on_busy %s", async (on_busy) => {
    running.model.answer({ status: 500 });
    await send({ on_busy });
    running.model.answer({ tokens: WORDS });
    await postTurn(url, ask({ message: "and now?" }));
    const refused = await send({ on_busy });
    if (on_busy === "enqueue") {
      expect(contentOf(refused.events, "error")).toMatchObject({ code: "turn_superseded", retryable: false });
    } else {
      expect(refused).toMatchObject(refusal(409, "turn_superseded"));
      expect(refused.json?.error.message).toMatch(/new Idempotency-Key/);
    }
    expect(await stored()).toHaveLength(3);
  });

  test("stays unused when its conversation is busy", async () => {
    const release = running.model.hold();
    const { ended } = await beginTurn(url, ask({ message: "another" }));
    expect(await send()).toMatchObject(refusal(409, "conversation_busy"));
    release();
    await ended;
    expect(contentOf((await send()).events, "done").receipt.window_messages).toBe(2);
  });

  test.each(["", " ", "two words", "ü", "x".repeat(201)])("of another form is refused: %p", async (key) => {
    const refused = await postTurn(url, ask(), { headers: { "idempotency-key": key } });
    expect(refused).toMatchObject({ status: 400, json: { error: { details: [{ field: "Idempotency-Key" }] } } });
  });
});
