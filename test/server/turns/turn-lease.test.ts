import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, type BegunTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const TENTHS = (count: number): object => ({ tokens: Array.from({ length: count }, () => "word "), betweenMs: 100 });
const BUSY = { status: 409, code: "conversation_busy", says: /still answering.*"on_busy": "enqueue"/ };
const QUEUED = { on_busy: "enqueue" };

describe("a conversation that is answering", () => {
  // With a lease that no pause of a busy machine outlasts: nothing here waits for its end.
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({}, { heartbeatMs: 50 });
  });
  afterAll(() => running.close());

  const ask = (sessionId: string, message: string, fields: object = {}): object => ({
    ...{ user_id: "ada", session_id: sessionId, message },
    ...fields,
  });
  const begin = (sessionId: string, message: string, fields: object = {}): Promise<BegunTurn> =>
    beginTurn(running.url, ask(sessionId, message, fields));
  const post = (body: object, path = "/api/v1/chat") => postJson(running.url + path, body);
  const contents = async (sessionId: string) => (await messagesOf(running.url, "ada", sessionId)).map(({ content }) => content);
  const done = async ({ ended }: BegunTurn) => contentOf((await ended).events, "done");

  test("refuses a second turn, stores nothing of it, and answers other conversations meanwhile", async () => {
    const release = running.model.hold(["first answer"]);
    const first = await begin("busy", "first");
    expectRefusal(await post(ask("busy", "second"), "/api/v1/chat/stream"), BUSY);
    expectRefusal(await post(ask("busy", "third", { on_busy: "refuse" })), BUSY);
    running.model.answer({ tokens: ["at once"] });
    for (const other of [ask("other", "hello"), { ...ask("busy", "hello"), user_id: "grace" }]) {
      expect((await post(other)).status).toBe(200);
    }
    release();
    expect((await done(first)).completed).toBe(true);
    expect(await contents("busy")).toEqual(["first", "first answer"]);
  });

  test("with enqueue lets later turns wait, and takes them in the order they came, each with the earlier ones in its window", async () => {
    running.model.answer(({ messages }) => ({ tokens: [`to ${messages.at(-1)?.content}`, "."], betweenMs: 150 }));
    const names = ["one", "two", "three", "four"];
    const turns: BegunTurn[] = [];
    for (const name of names) turns.push(await begin("queue", name, QUEUED));
    const last = await postJson<{ receipt: object }>(`${running.url}/api/v1/chat`, ask("queue", "five", QUEUED));
    expect(last.json.receipt).toMatchObject({ window_messages: 8 });
    expect((await Promise.all(turns.map(done))).map(({ answer }) => answer)).toEqual(names.map((name) => `to ${name}.`));
    expect(await contents("queue")).toEqual([...names, "five"].flatMap((name) => [name, `to ${name}.`]));
  });

  test("keeps the connection of who waits alive with heartbeats", async () => {
    const release = running.model.hold();
    const first = await begin("heartbeat", "first");
    const waiting = await connectTo(running.url);
    waiting.socket.write(postBytes("/api/v1/chat/stream", ask("heartbeat", "second", QUEUED)));
    await waitUntil("three heartbeats", () => waiting.received().split(": heartbeat\n\n").length > 3);
    expect(waiting.received()).not.toContain('"token"');
    release();
    await done(first);
    await waiting.until('"status":"done"');
    waiting.socket.destroy();
    expect(await contents("heartbeat")).toHaveLength(4);
  });

  test("forgets waiting turns whose clients leave, at the head of the line and behind, and takes the others", async () => {
    running.model.answer(({ messages }) => (messages.at(-1)?.content === "first" ? TENTHS(15) : { tokens: ["answer"] }));
    const turns = [await begin("left", "first")];
    for (const message of ["second, who leaves", "third", "fourth, who leaves", "fifth"]) {
      const turn = await begin("left", message, QUEUED);
      if (message.endsWith("leaves")) turn.leave();
      else turns.push(turn);
    }
    for (const turn of turns) expect((await done(turn)).completed).toBe(true);
    expect((await contents("left")).filter((_, index) => index % 2 === 0)).toEqual(["first", "third", "fifth"]);
    expect(running.model.seen.filter(({ body }) => body.messages.at(-1)?.content.includes("who leaves"))).toEqual([]);
  });

  test.each([
    ["done", { tokens: ["answer"] }, 30],
    ["error", { status: 401 }, 10],
  ])("is free before %s is sent: the next turn is never refused", async (last, script, rounds) => {
    running.model.answer(script);
    for (let round = 0; round < rounds; round++) {
      let next: Promise<EventStreamResponse> | undefined;
      const { status } = await postTurn(running.url, ask(last, `turn ${round}`), {
        onEvent: ({ data }) => void (data.status === last && (next = postTurn(running.url, ask(last, `after ${round}`)))),
      });
      expect([round, status, (await next)?.status]).toEqual([round, 200, 200]);
    }
    expect(await contents(last)).toHaveLength(last === "done" ? 120 : 20);
  });

  test("that is deleted lets those who wait begin it anew", async () => {
    running.model.answer(TENTHS(30));
    const first = await begin("deleted", "first");
    const second = await begin("deleted", "second", QUEUED);
    running.model.answer({ tokens: ["answer"] });
    const listed = (await listConversations(running.url, "ada")).find(({ session_id }) => session_id === "deleted");
    await callApi(`${running.url}/api/v1/conversations/${listed?.id}`, { method: "DELETE" });
    expect(contentOf((await first.ended).events, "error").code).toBe("turn_superseded");
    expect((await done(second)).completed).toBe(true);
    expect(await contents("deleted")).toEqual(["second", "answer"]);
  });

  test("stays taken far beyond one lease, while the model streams and while it has not said a word", async () => {
    const short = await openServiceWithModel({ TURN_LEASE_MS: "2000" });
    short.model.answer({ tokens: Array.from({ length: 30 }, () => "word "), firstTokenMs: 4_000, betweenMs: 100 });
    const first = await beginTurn(short.url, ask("long", "first"));
    for (const pause of [2_500, 2_000, 1_000]) {
      await sleep(pause);
      expectRefusal(await postJson(`${short.url}/api/v1/chat`, ask("long", "second")), BUSY);
    }
    expect(await done(first)).toMatchObject({ completed: true, answer: "word ".repeat(30) });
    expect((await messagesOf(short.url, "ada", "long")).map(({ content }) => content)).toEqual(["first", "word ".repeat(30)]);
    await short.close();
  });
});
