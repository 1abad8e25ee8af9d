import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { messagesOf, postJson, callApi } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, tokenText, type EventStreamResponse, readEvents } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { holdConversations } from "../../support/databases/hold-conversations.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import type { TestService } from "../../support/services/service.ts";
import { useServicesOnOneDatabase } from "../../support/services/services-on-one-database.ts";

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

  test("makes a retry the same turn, whether it is streamed, whole or after a Last-Event-ID", async () => {
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

  test("takes the same request in another spelling for the same, and refuses another request", async () => {
    const first = await send();
    const spelt = `{ "message": "hello", "debug": false, "session_id": "${sessionId}", "user_id": "ada" }`;
    expect(idOf(await postTurn(url, spelt, { headers }))).toBe(idOf(first));
    for (const fields of [{ message: "hello!" }, { session_id: "another" }, { agent_type: "chat_agent" }])
      expect(await send(fields)).toMatchObject(refusal(422, "idempotency_mismatch"));
    expect(await stored()).toHaveLength(2);
  });

  test("is refused with another body even while the first request is on its way", async () => {
    const [first, other] = await Promise.all([send(), send({ message: "something else" })]);
    expect([first.status, other.status].sort()).toEqual([200, 422]);
  });

  test("shows another attempt from its first event, however far the client came in the failed attempt", async () => {
    running.model.answer({ tokens: WORDS, ending: "cut" });
    const failed = await send();
    running.model.answer({ tokens: ["other ", "words ", "altogether"] });
    const again = await send({}, { "last-event-id": failed.events.at(-1)?.id ?? "" });
    expect(tokenText(again.events)).toBe("other words altogether");
    expect(again.events.map(({ id }) => id?.split(".")[0])).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("cancels its turn when the last of its readers has left, and not before", async () => {
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

  test("runs a failed turn again for the stored message when a retry may help", async () => {
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

  test("repeats a failure that a retry cannot help", async () => {
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

  test.each(["", " ", "two words", "ü", "x".repeat(201)])("is refused in another form: %p", async (key) => {
    const refused = await postTurn(url, ask(), { headers: { "idempotency-key": key } });
    expect(refused).toMatchObject({ status: 400, json: { error: { details: [{ field: "Idempotency-Key" }] } } });
  });
});

describe("a key that two processes get while its conversation is busy", () => {
  const running = useServicesOnOneDatabase();
  let sessionId: string;
  let headers: Record<string, string>;
  let release: () => void;
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.seen.splice(0);
    release = running.model.hold(["yes ", "indeed"]);
  });

  const ask = ({ url }: TestService, message: string, given: Record<string, string> = headers): Promise<EventStreamResponse> =>
    postTurn(url, { user_id: "ada", session_id: sessionId, message, on_busy: "enqueue" }, { headers: given });
  const begin = ({ url }: TestService, message: string): Promise<Response> =>
    fetch(`${url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ user_id: "ada", session_id: sessionId, message, on_busy: "enqueue" }),
    });
  const idOf = (response: EventStreamResponse): string => response.headers.get("x-turn-id") ?? "";

  /** Sends the two messages, one to each process, behind one that holds the conversation. */
  async function sendBehindAnother(one: string, other: string): Promise<EventStreamResponse[]> {
    const { model, here, there } = running;
    const busy = ask(here, "first", {});
    await model.untilAsked();
    // Both answer with headers when they wait in line; a request that comes later would find the key at once.
    const waiting = await Promise.all([begin(here, one), begin(there, other)]);
    release();
    await busy;
    const responses = await Promise.all(waiting.map((response) => readEvents(response)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    return responses;
  }

  /** The outcome of each turn that was counted, in either process. */
  async function countedOf(): Promise<string[]> {
    const read = await Promise.all(running.both.map(({ url }) => readMetrics(url)));
    const counted = read.flatMap(({ samples }) => [...samples]).filter(([name]) => name.startsWith("conversation_graph_turns_total"));
    return counted.flatMap(([name, count]) => Array.from({ length: count }, () => /outcome="(\w+)"/.exec(name)?.[1] ?? ""));
  }
  const shownBy = async ({ url }: TestService) =>
    (await callApi<{ turns: { code: string | null }[] }>(`${url}/api/v1/status`)).json.turns.map(({ code }) => code);

  test("is refused in one of the streams when the two bodies differ", async () => {
    const responses = await sendBehindAnother("hello", "goodbye");
    const lasts = responses.map(({ events }) => events.at(-1)?.data).sort((last) => (last?.status === "done" ? -1 : 1));
    expect(lasts).toMatchObject([{ status: "done" }, { status: "error", content: { code: "idempotency_mismatch", retryable: false } }]);
    expect(await messagesOf(running.here.url, "ada", sessionId)).toHaveLength(4);
  });

  test("joins both processes to one turn, with event ids that work in both", async () => {
    const { model, both } = running;
    const lock = await holdConversations(running.databaseUrl);
    const sent = both.map((service) => ask(service, "hello"));
    await lock.untilATurnWaits();
    await sleep(200); // both, as a rule; else the second one finds the key at once
    await lock.release();
    await model.untilAsked();
    release();
    for (const [place, response] of (await Promise.all(sent)).entries()) {
      const { events } = response;
      expect(tokenText(events)).toBe("yes indeed");
      const first = events.findIndex(({ data }) => data.status === "token");
      const lastEventId = events[first]?.id ?? "";
      for (const rest of [
        await streamTurn(both[place]?.url ?? "", idOf(response), { lastEventId }),
        await ask(both[1 - place] ?? running.here, "hello", { ...headers, "last-event-id": lastEventId }),
      ]) {
        expect(tokenText(events.slice(0, first + 1)) + tokenText(rest.events)).toBe("yes indeed");
      }
    }
    expect(model.seen).toHaveLength(1);
  });

  test("is one turn that is counted and shown once, and the id of the later attempt leads to it", async () => {
    const { model, both, here } = running;
    const before = await countedOf();
    const responses = await sendBehindAnother("hello", "hello");
    for (const { events } of responses) expect(tokenText(events)).toBe("yes indeed");
    expect(new Set(responses.map(({ events }) => contentOf(events, "done").message_id)).size).toBe(1);
    expect(model.seen).toHaveLength(2);

    const stored = (await messagesOf(here.url, "ada", sessionId)).find(({ content }) => content === "hello");
    for (const [place, response] of responses.entries()) {
      const url = both[place]?.url ?? "";
      expect((await getTurn(url, idOf(response))).json).toMatchObject({ id: stored?.metadata["turn_id"], state: "done" });
      expect(tokenText((await streamTurn(url, idOf(response))).events)).toBe("yes indeed");
    }
    expect(await countedOf()).toEqual([...before, "done", "done"]);
    expect((await Promise.all(both.map(shownBy))).flat()).toEqual([...before, "done", "done"].map(() => null));
  });
});
