import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL } from "../../../stores/postgres/conversations/turn-record-store.ts";
import { messagesOf } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";
import { cancelTurn, getTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a turn that another process asks to stop, and that does not hear of it", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let proxy: TcpProxy;
  let here: TestService;
  let there: TestService;
  let sessionId: string;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    // Only the connection that listens for cancellations goes dead; it stays open, so that it is not taken up again.
    proxy = await startTcpProxy(database.url, { only: `listen "${CANCEL_CHANNEL}"` });
    const environment = { OPENAI_BASE_URL: model.url, TURN_LEASE_MS: "1500" };
    [here, there] = await Promise.all([
      openTestService({ ...environment, DATABASE_URL: database.url }),
      openTestService({ ...environment, DATABASE_URL: proxy.url }),
    ]);
    proxy.freeze();
  });
  beforeEach(() => {
    sessionId = uuidv7();
    model.seen.splice(0);
  });
  afterEach(() => model.answer({}));
  afterAll(async () => {
    await proxy.restore();
    await there.close();
    await here.close();
    await proxy.close();
    await model.close();
    await database.drop();
  });

  const ask = (url: string) => postTurn(url, { user_id: "ada", session_id: sessionId, message: "hello" });
  const askedFor = () =>
    waitUntil(
      "the turn's message",
      async () => (await messagesOf(here.url, "ada", sessionId))[0]?.metadata["turn_id"] as string | undefined,
    );

  test.each([
    ["in mid-answer", { tokens: ["half "], ending: "hang" as const }, ["hello", "half "]],
    ["before its first token", { until: new Promise(() => undefined) }, ["hello"]],
  ])("is stopped when it renews its lease, %s", async (_when, script, kept) => {
    model.answer(script);
    const response = ask(there.url);
    const turnId = await askedFor();
    await waitUntil("the model to be asked", () => model.seen.length === 1);
    expect((await cancelTurn(here.url, turnId)).json).toEqual({ turn_id: turnId, cancelled: true });
    expect(contentOf((await response).events, "error")).toMatchObject({ code: "turn_cancelled", retryable: true });
    await waitUntil("the model to be left", () => model.seen[0]?.aborted);
    expect((await messagesOf(here.url, "ada", sessionId)).map(({ content }) => content)).toEqual(kept);
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "failed", error: { code: "turn_cancelled" } });
    model.answer({ tokens: ["free"] });
    expect(contentOf((await ask(here.url)).events, "done").answer).toBe("free");
  });
});
