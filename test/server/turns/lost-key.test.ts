import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, messagesOf } from "../../support/api-client.ts";
import { createRealDatabase } from "../../support/databases.ts";
import { contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/event-client.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import { readMetrics } from "../../support/read-metrics.ts";
import { openTestService, type TestService } from "../../support/service.ts";
import { getTurn, streamTurn } from "../../support/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a key that two processes were sent while its conversation was busy", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let services: TestService[];
  let sessionId: string;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url };
    services = await Promise.all([openTestService(environment), openTestService(environment)]);
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

  async function outcomesOf({ url }: TestService): Promise<Record<string, number>> {
    const { samples } = await readMetrics(url);
    const counted = [...samples].filter(([name]) => name.startsWith("conversation_graph_turns_total"));
    return Object.fromEntries(counted.map(([name, count]) => [/outcome="(\w+)"/.exec(name)?.[1] ?? "", count]));
  }
  const shownBy = async ({ url }: TestService) =>
    (await callApi<{ turns: { code: string | null }[] }>(`${url}/api/v1/status`)).json.turns.map(({ code }) => code);

  test("is one turn, counted and shown once; the attempt that came too late is none, and its id leads to the turn", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["yes"], until: released });
    const [one, other] = services as [TestService, TestService];
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
    const counted = (await Promise.all(services.map(outcomesOf))).flatMap((outcomes) => Object.entries(outcomes));
    expect(counted.every(([outcome]) => outcome === "done")).toBe(true);
    expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBe(2);
    expect((await Promise.all(services.map(shownBy))).flat()).toEqual([null, null]);
  });
});
