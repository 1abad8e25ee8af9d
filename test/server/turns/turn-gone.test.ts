import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { clearOldTurns } from "../../../stores/postgres/conversations/turn-record-store.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { type ModelServer, startModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a turn of the day before", () => {
  let model: ModelServer;
  let created: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let here: TestService;
  let there: TestService;
  beforeAll(async () => {
    [model, created] = await Promise.all([startModelServer(), createRealDatabase()]);
    database = await openPostgres(created.url);
    const environment = { DATABASE_URL: created.url, OPENAI_BASE_URL: model.url };
    [here, there] = await Promise.all([openTestService(environment), openTestService(environment)]);
  });
  afterAll(async () => {
    await Promise.all([here.close(), there.close(), database.close()]);
    await model.close();
    await created.drop();
  });

  const age = (turnId: string) =>
    database.query({
      text: "update turns set started_at = started_at - interval '25 hours', ended_at = ended_at - interval '25 hours' where id = $1",
      values: [turnId],
    });
  const ask = (sessionId: string, key: string, message = "hello") =>
    postTurn(here.url, { user_id: "ada", session_id: sessionId, message }, { headers: { "idempotency-key": key } });

  describe.each([
    ["and is emptied", true],
    ["and waits to be emptied", false],
  ])("has ended %s", (_how, isEmptied) => {
    async function askYesterday(sessionId: string, key: string): Promise<string> {
      const turnId = (await ask(sessionId, key)).headers.get("x-turn-id") ?? "";
      await age(turnId);
      if (isEmptied) expect(await clearOldTurns(database)).toBe(1);
      return turnId;
    }

    test("is gone in each process, what it said too, however much of it is still in memory; its messages stay", async () => {
      model.answer({ tokens: ["Hi."] });
      const sessionId = uuidv7();
      const turnId = await askYesterday(sessionId, uuidv7());
      for (const { url } of [here, there]) {
        expect(await getTurn(url, turnId)).toMatchObject({ status: 410, json: { error: { code: "turn_gone" } } });
        const stream = await streamTurn(url, turnId, { lastEventId: "1.0" });
        expect(stream).toMatchObject({ status: 410, json: { error: { code: "turn_gone" } } });
        expect(stream.json?.error.message).toContain(turnId);
        expect((await cancelTurn(url, turnId)).json).toEqual({ turn_id: turnId, cancelled: false });
        expect((await messagesOf(url, "ada", sessionId)).map(({ content }) => content)).toEqual(["hello", "Hi."]);
      }
      const other = `${here.url}/api/v1/turns/${uuidv7()}`;
      expect((await callApi(other)).status).toBe(404);
    });

    test.each([
      ["done", { tokens: ["Hi."] }],
      ["failed", { status: 500 }],
    ])("leaves its key to another message when it was %s", async (_outcome, script) => {
      model.answer(script);
      const [sessionId, key] = [uuidv7(), uuidv7()];
      const turnId = await askYesterday(sessionId, key);
      model.answer({ tokens: ["Again."] });
      const next = await ask(sessionId, key, "another");
      expect(contentOf(next.events, "done").answer).toBe("Again.");
      expect(next.headers.get("x-turn-id")).not.toBe(turnId);
      const contents = (await messagesOf(here.url, "ada", sessionId)).map(({ content }) => content);
      expect(contents.slice(-2)).toEqual(["another", "Again."]);
      expect((await ask(sessionId, key, "another")).headers.get("x-turn-id")).toBe(next.headers.get("x-turn-id"));
      expect((await getTurn(there.url, turnId)).status).toBe(410);
    });
  });

  test("is not gone while it runs", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["late"], until: released });
    const sessionId = uuidv7();
    const response = ask(sessionId, uuidv7());
    const firstOf = async () => (await messagesOf(there.url, "ada", sessionId))[0];
    const turnId = await waitUntil("the turn's message", async () => (await firstOf())?.metadata["turn_id"] as string | undefined);
    await age(turnId);
    await clearOldTurns(database);
    for (const { url } of [here, there]) expect((await getTurn(url, turnId)).json).toMatchObject({ state: "running" });
    const followed = [streamTurn(here.url, turnId), streamTurn(there.url, turnId)];
    release();
    expect(contentOf((await response).events, "done").answer).toBe("late");
    for (const stream of followed) expect((await stream).status).toBe(200);
  });
});
