import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const TENTHS = (count: number): object => ({ tokens: Array.from({ length: count }, () => "word "), betweenMs: 100 });
const BUSY = { status: 409, code: "conversation_busy", says: /still answering.*"on_busy": "enqueue"/ };

function ask(sessionId: string, message: string, fields: object = {}): object {
  return { user_id: "ada", session_id: sessionId, message, ...fields };
}

/** Posts a turn; resolves when its first event is there, with the promise of its end inside. */
async function beginTurn(url: string, body: object): Promise<{ ended: Promise<EventStreamResponse> }> {
  const begun = Promise.withResolvers<void>();
  const ended = postTurn(url, body, { onEvent: () => begun.resolve() });
  await Promise.race([begun.promise, ended]);
  return { ended };
}

async function contentsOf(url: string, sessionId: string): Promise<string[]> {
  return (await messagesOf(url, "ada", sessionId)).map(({ content }) => content);
}

describe("a conversation that is answering", () => {
  // With a lease that no pause of a busy machine outlasts: nothing here waits for its end.
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({}, { heartbeatMs: 50 });
  });
  afterAll(() => running.close());

  const begin = (body: object) => beginTurn(running.url, body);
  const contents = (sessionId: string) => contentsOf(running.url, sessionId);

  test("refuses a second turn, stores nothing of it, and answers other conversations meanwhile", async () => {
    running.model.answer(TENTHS(15));
    const { ended } = await begin(ask("busy", "first"));
    expectRefusal(await postJson(`${running.url}/api/v1/chat/stream`, ask("busy", "second")), BUSY);
    expectRefusal(await postJson(`${running.url}/api/v1/chat`, ask("busy", "third", { on_busy: "refuse" })), BUSY);
    running.model.answer({ tokens: ["at once"] });
    const others = await Promise.all(["other", "another"].map((session) => postJson(`${running.url}/api/v1/chat`, ask(session, "hello"))));
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
    expect((await postJson(`${running.url}/api/v1/chat`, { ...ask("busy", "hello"), user_id: "grace" })).status).toBe(200);
    expect(contentOf((await ended).events, "done").completed).toBe(true);
    expect(await contents("busy")).toEqual(["first", "word ".repeat(15)]);
  });

  test("with enqueue lets later turns wait, and takes them in the order they came", async () => {
    running.model.answer(({ messages }) => ({ tokens: [`to ${messages.at(-1)?.content}`, "."], betweenMs: 150 }));
    const names = ["one", "two", "three", "four", "five"];
    const turns: Promise<EventStreamResponse>[] = [];
    for (const name of names) turns.push((await begin(ask("queue", name, { on_busy: "enqueue" }))).ended);
    const answers = (await Promise.all(turns)).map(({ events }) => contentOf(events, "done").answer);
    expect(answers).toEqual(names.map((name) => `to ${name}.`));
    expect(await contents("queue")).toEqual(names.flatMap((name) => [name, `to ${name}.`]));
  });

  test("with enqueue answers the whole turn too, each with the earlier ones in its window", async () => {
    running.model.answer({ tokens: ["answer"], firstTokenMs: 200 });
    const { ended } = await begin(ask("queue whole", "first"));
    const second = await postJson<{ receipt: object }>(`${running.url}/api/v1/chat`, ask("queue whole", "second", { on_busy: "enqueue" }));
    expect(second.json.receipt).toMatchObject({ window_messages: 2 });
    expect((await ended).status).toBe(200);
  });

  test("keeps the connection of who waits alive with heartbeats", async () => {
    running.model.answer(TENTHS(15));
    const { ended } = await begin(ask("heartbeat", "first"));
    const waiting = await connectTo(running.url);
    waiting.socket.write(postBytes("/api/v1/chat/stream", ask("heartbeat", "second", { on_busy: "enqueue" })));
    await waitUntil("three heartbeats", () => waiting.received().split(": heartbeat\n\n").length > 3);
    expect(waiting.received()).not.toContain('"token"');
    await ended;
    await waiting.until('"status":"done"');
    waiting.socket.destroy();
    expect(await contents("heartbeat")).toHaveLength(4);
  });

  test("forgets waiting turns whose clients leave, at the head of the line and behind, and takes the others", async () => {
    running.model.answer(({ messages }) => (messages.at(-1)?.content === "first" ? TENTHS(15) : { tokens: ["answer"] }));
    const leaves = (name: string) => postTurn(running.url, ask("left", name, { on_busy: "enqueue" }), { onEvent: () => "leave" });
    const { ended: first } = await begin(ask("left", "first"));
    await leaves("second, who leaves");
    const { ended: third } = await begin(ask("left", "third", { on_busy: "enqueue" }));
    await leaves("fourth, who leaves");
    const { ended: fifth } = await begin(ask("left", "fifth", { on_busy: "enqueue" }));
    for (const turn of [first, third, fifth]) expect(contentOf((await turn).events, "done").completed).toBe(true);
    expect((await contents("left")).filter((_, index) => index % 2 === 0)).toEqual(["first", "third", "fifth"]);
    expect(running.model.seen.filter(({ body }) => body.messages.at(-1)?.content.includes("who leaves"))).toEqual([]);
  });

  test("is free before done is sent: the next turn is never refused", async () => {
    running.model.answer({ tokens: ["answer"] });
    for (let round = 0; round < 30; round++) {
      let next: Promise<EventStreamResponse> | undefined;
      const { status } = await postTurn(running.url, ask("free", `turn ${round}`), {
        onEvent({ data }) {
          if (data.status === "done") next = postTurn(running.url, ask("free", `after ${round}`));
        },
      });
      expect([round, status, (await next)?.status]).toEqual([round, 200, 200]);
    }
    expect(await contents("free")).toHaveLength(120);
  });

  test("is free before error is sent", async () => {
    running.model.answer({ status: 401 });
    for (let round = 0; round < 10; round++) {
      let next: Promise<EventStreamResponse> | undefined;
      await postTurn(running.url, ask("free after error", `turn ${round}`), {
        onEvent({ data }) {
          if (data.status === "error") next = postTurn(running.url, ask("free after error", `after ${round}`));
        },
      });
      expect([round, (await next)?.status]).toEqual([round, 200]);
    }
  });

  test("that is deleted lets those who wait begin it anew", async () => {
    running.model.answer(TENTHS(30));
    const { ended: first } = await begin(ask("deleted", "first"));
    const { ended: second } = await begin(ask("deleted", "second", { on_busy: "enqueue" }));
    running.model.answer({ tokens: ["answer"] });
    const [conversation] = await waitUntil("the conversation", async () => {
      const { json } = await callApi<{ conversations: { id: string; session_id: string }[] }>(
        `${running.url}/api/v1/conversations?user_id=ada`,
      );
      return json.conversations.filter(({ session_id }) => session_id === "deleted");
    });
    await callApi(`${running.url}/api/v1/conversations/${conversation?.id}`, { method: "DELETE" });
    expect(contentOf((await first).events, "error").code).toBe("turn_superseded");
    expect(contentOf((await second).events, "done").completed).toBe(true);
    expect(await contents("deleted")).toEqual(["second", "answer"]);
  });
});

describe("a conversation whose answer outlasts its lease", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({ TURN_LEASE_MS: "2000" });
  });
  afterAll(() => running.close());

  test("stays taken for as long as the model streams, far beyond one lease", async () => {
    running.model.answer(TENTHS(70));
    const { ended } = await beginTurn(running.url, ask("long", "first"));
    for (const pause of [2_500, 2_000]) {
      await sleep(pause);
      expectRefusal(await postJson(`${running.url}/api/v1/chat`, ask("long", "second")), BUSY);
    }
    expect(contentOf((await ended).events, "done")).toMatchObject({ completed: true, answer: "word ".repeat(70) });
    expect(await contentsOf(running.url, "long")).toEqual(["first", "word ".repeat(70)]);
  });

  test("stays taken also while the model has not said a word", async () => {
    running.model.answer({ tokens: ["at last"], firstTokenMs: 5_000 });
    const { ended } = await beginTurn(running.url, ask("silent", "first"));
    await sleep(2_500);
    expectRefusal(await postJson(`${running.url}/api/v1/chat`, ask("silent", "second")), BUSY);
    expect(contentOf((await ended).events, "done").completed).toBe(true);
  });
});
