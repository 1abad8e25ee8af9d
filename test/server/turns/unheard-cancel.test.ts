import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL } from "../../../stores/postgres/conversations/turn-record-store.ts";
import { messagesOf } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { beginTurn, contentOf } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";
import { cancelTurn, getTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a turn that another process asks to stop, and that does not hear of it", () => {
  let running: ServiceWithModel;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let proxy: TcpProxy;
  let there: TestService;
  let sessionId: string;
  beforeAll(async () => {
    database = await createRealDatabase();
    // Only the connection that listens for cancellations goes dead; it stays open, so that it is not taken up again.
    proxy = await startTcpProxy(database.url, { only: `listen "${CANCEL_CHANNEL}"` });
    running = await openServiceWithModel({ DATABASE_URL: database.url, TURN_LEASE_MS: "1500" });
    there = await openTestService({ DATABASE_URL: proxy.url, OPENAI_BASE_URL: running.model.url, TURN_LEASE_MS: "1500" });
    proxy.freeze();
  });
  beforeEach(() => {
    sessionId = uuidv7();
    running.model.seen.splice(0);
  });
  afterEach(() => running.model.answer({}));
  afterAll(async () => {
    await proxy.restore();
    await there.close();
    await running.close();
    await proxy.close();
    await database.drop();
  });

  const ask = (url: string) => beginTurn(url, { user_id: "ada", session_id: sessionId, message: "hello" });

  test.each([
    ["in mid-answer", { tokens: ["half "], ending: "hang" as const }, ["hello", "half "]],
    ["before its first token", { until: new Promise(() => undefined) }, ["hello"]],
  ])("is stopped when it renews its lease, %s", async (_when, script, stored) => {
    const { model, url } = running;
    model.answer(script);
    const { turnId, ended } = await ask(there.url);
    await model.untilAsked();
    expect((await cancelTurn(url, turnId)).json).toEqual({ turn_id: turnId, cancelled: true });
    expect(contentOf((await ended).events, "error")).toMatchObject({ code: "turn_cancelled", retryable: true });
    await waitUntil("the model to be left", () => model.seen[0]?.aborted);
    expect((await messagesOf(url, "ada", sessionId)).map(({ content }) => content)).toEqual(stored);
    expect((await getTurn(url, turnId)).json).toMatchObject({ state: "failed", error: { code: "turn_cancelled" } });
    model.answer({ tokens: ["free"] });
    expect(contentOf((await (await ask(url)).ended).events, "done").answer).toBe("free");
  });
});
