import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL } from "../../../stores/postgres/conversations/turn-record-store.ts";
import { messagesOf } from "../../support/clients/api-client.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { beginTurn, contentOf } from "../../support/clients/event-client.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService } from "../../support/services/service.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { cancelTurn, getTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a turn that another process asks to stop, and that does not hear of it", () => {
  const database = useOpened(openTestPostgres);
  // Only the connection that listens for cancellations goes dead; it stays open, so that it is not taken up again.
  const proxy = useOpened(() => startTcpProxy(database.url, { only: `listen "${CANCEL_CHANNEL}"` }));
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, TURN_LEASE_MS: "1500" }));
  const there = useOpened(() => openTestService({ DATABASE_URL: proxy.url, OPENAI_BASE_URL: running.model.url, TURN_LEASE_MS: "1500" }));
  let sessionId: string;
  beforeAll(() => proxy.freeze());
  beforeEach(() => {
    sessionId = uuidv7();
    running.model.seen.splice(0);
  });
  afterEach(() => running.model.answer({}));
  afterAll(() => proxy.restore());

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
