import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL } from "../../../stores/postgres/turns/turn-record-store.ts";
import { messagesOf } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { holdConversations } from "../../support/databases/hold-conversations.ts";
import { openTestService } from "../../support/services/service.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { cancelTurn, getTurn } from "../../support/clients/turn-client.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a turn whose beginning Postgres stores but does not acknowledge", () => {
  const database = useTestPostgres();
  const proxy = useOpened(() => startTcpProxy(database.url));
  const watcher = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }));
  const service = useOpened(() => openTestService({ DATABASE_URL: proxy.url, OPENAI_BASE_URL: watcher.model.url }));
  let sessionId: string;
  beforeEach(() => {
    sessionId = uuidv7();
    watcher.model.answer({ tokens: ["Hi."] });
  });
  afterEach(() => proxy.restore());

  const send = (headers: Record<string, string> = {}, userId = "ada"): Promise<EventStreamResponse> =>
    postTurn(service.url, { user_id: userId, session_id: sessionId, message: "hello" }, { headers });
  const stored = async () => (await messagesOf(watcher.url, "ada", sessionId)).map(({ content }) => content);
  const answerOf = ({ events }: EventStreamResponse) => contentOf(events, "done").answer;

  /** A message whose begin is committed while `silence` keeps its reply back. */
  async function loseBegin(headers: Record<string, string>, silence: () => Promise<void> | void): Promise<EventStreamResponse> {
    await send({}, "grace"); // to open connections
    // The look for the key is answered still; what follows is not.
    const lock = await holdConversations(database.url);
    const lost = send(headers);
    await lock.untilATurnWaits();
    proxy.loseReplies();
    await lock.release();
    await waitUntil("the stored message", async () => (await stored()).length === 1);
    await silence();
    return lost;
  }
  const UNAVAILABLE = { status: 503, json: { error: { code: "storage_unavailable" } } };

  test("is found by its id and answered, and its key repeats the answer", async () => {
    const headers = { "idempotency-key": uuidv7() };
    const lost = await loseBegin(headers, () => proxy.restore());
    expect(answerOf(lost)).toBe("Hi.");
    expect(contentOf((await send(headers)).events, "done")).toEqual(contentOf(lost.events, "done"));
    expect(await stored()).toEqual(["hello", "Hi."]);
  });

  test("is refused while Postgres stays away, and its key then goes on with the stored message", async () => {
    const headers = { "idempotency-key": uuidv7() };
    const lost = await loseBegin(headers, () => proxy.refuse());
    expect(lost).toMatchObject(UNAVAILABLE);
    expect(lost.headers.get("x-turn-id")).not.toBeNull();
    await proxy.restore();
    expect(answerOf(await send(headers))).toBe("Hi.");
    expect(await stored()).toEqual(["hello", "Hi."]);
  });

  test("without a key is refused and taken back while Postgres stays away, and can be sent again", async () => {
    expect(await loseBegin({}, () => proxy.refuse())).toMatchObject(UNAVAILABLE);
    await proxy.restore();
    await waitUntil("nothing of it is stored", async () => (await stored()).length === 0);
    expect(answerOf(await send())).toBe("Hi.");
    expect(await stored()).toEqual(["hello", "Hi."]);
  });
});

describe("a turn that does not hear another process's request to stop", () => {
  const database = useTestPostgres();
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
