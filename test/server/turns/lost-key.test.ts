import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { holdConversations } from "../../support/databases/hold-conversations.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a key that two processes were sent while its conversation was busy", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let services: TestService[];
  let one: TestService;
  let other: TestService;
  let sessionId: string;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url };
    [one, other] = await Promise.all([openTestService(environment), openTestService(environment)]);
    services = [one, other];
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.close()));
    await model.close();
    await database.drop();
  });
  beforeEach(() => {
    sessionId = uuidv7();
    model.seen.splice(0);
  });

  const ask = (service: TestService, message: string, headers: Record<string, string> = {}): Promise<EventStreamResponse> =>
    postTurn(service.url, { user_id: "ada", session_id: sessionId, message, on_busy: "enqueue" }, { headers });

  /** The outcome of each turn that was counted, in either process. */
  async function countedOf(): Promise<string[]> {
    const read = await Promise.all(services.map(({ url }) => readMetrics(url)));
    const counted = read.flatMap(({ samples }) => [...samples]).filter(([name]) => name.startsWith("conversation_graph_turns_total"));
    return counted.flatMap(([name, count]) => Array.from({ length: count }, () => /outcome="(\w+)"/.exec(name)?.[1] ?? ""));
  }
  const shownBy = async ({ url }: TestService) =>
    (await callApi<{ turns: { code: string | null }[] }>(`${url}/api/v1/status`)).json.turns.map(({ code }) => code);

  test("is refused in the stream that waits when the other process was sent another body with it", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["yes"], until: released });
    const busy = ask(one, "first");
    await waitUntil("the model to be asked", () => model.seen.length === 1);
    const headers = { "idempotency-key": uuidv7() };
    const sent = [ask(one, "hello", headers), ask(other, "goodbye", headers)];
    release();
    await busy;
    const told = await Promise.all(sent);
    expect(told.map(({ status }) => status)).toEqual([200, 200]);
    const lasts = told.map(({ events }) => events.at(-1)?.data).sort((last) => (last?.status === "done" ? -1 : 1));
    expect(lasts).toMatchObject([{ status: "done" }, { status: "error", content: { code: "idempotency_mismatch", retryable: false } }]);
    expect(await messagesOf(one.url, "ada", sessionId)).toHaveLength(4);
  });

  test("is attached to from the other process while its turn runs, with ids that lead on everywhere", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["yes ", "indeed"], until: released });
    const headers = { "idempotency-key": uuidv7() };
    const lock = await holdConversations(database.url);
    const sent = [one, other].map((service) => ask(service, "hello", headers));
    await lock.untilSomebodyWaits();
    await sleep(200); // both, as a rule; else the second one finds the key at once
    await lock.release();
    await waitUntil("the model to be asked", () => model.seen.length === 1);
    release();
    const told = await Promise.all(sent);
    for (const [place, { headers: sentHeaders, events }] of told.entries()) {
      expect(tokenText(events)).toBe("yes indeed");
      const { id } = events.find(({ data }) => data.status === "token") ?? {};
      const service = services[place] as TestService;
      const had = tokenText(events.slice(0, events.findIndex((event) => event.id === id) + 1));
      const resumed = [
        await streamTurn(service.url, sentHeaders.get("x-turn-id") ?? "", { lastEventId: id }),
        await ask(services[1 - place] as TestService, "hello", { ...headers, "last-event-id": id ?? "" }),
      ];
      for (const rest of resumed) expect(had + tokenText(rest.events)).toBe("yes indeed");
    }
    expect(model.seen).toHaveLength(1);
  });

  test("is one turn, counted and shown once; the attempt that came too late is none, and its id leads to the turn", async () => {
    const before = await countedOf();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["yes"], until: released });
    const busy = ask(one, "first");
    await waitUntil("the model to be asked", () => model.seen.length === 1);
    const headers = { "idempotency-key": uuidv7() };
    const sent = [one, other].map((service) => ask(service, "hello", headers));
    release();
    await busy;
    const told = await Promise.all(sent);
    for (const { status, events } of told) expect([status, tokenText(events)]).toEqual([200, "yes"]);
    const ids = new Set(told.map(({ events }) => contentOf(events, "done").message_id));
    expect(ids.size).toBe(1);
    expect(model.seen).toHaveLength(2);

    const stored = (await messagesOf(one.url, "ada", sessionId)).find(({ content }) => content === "hello");
    for (const [place, response] of told.entries()) {
      const service = services[place] as TestService;
      const turnId = response.headers.get("x-turn-id") ?? "";
      expect((await getTurn(service.url, turnId)).json).toMatchObject({ id: stored?.metadata["turn_id"], state: "done" });
      expect(tokenText((await streamTurn(service.url, turnId)).events)).toBe("yes");
    }
    expect(await countedOf()).toEqual([...before, "done", "done"]);
    expect((await Promise.all(services.map(shownBy))).flat()).toEqual([...before, "done", "done"].map(() => null));
  });
});
