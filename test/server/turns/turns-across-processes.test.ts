import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, tokenText, type EventStreamResponse, type StreamOptions } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { holdConversations } from "../../support/databases/hold-conversations.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WORDS = Array.from({ length: 10 }, (_, index) => `word${index} `);

describe("a turn of another process on the same Postgres", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let here: TestService;
  let there: ServiceProcess;
  let environment: Record<string, string>;
  let sessionId: string;
  let headers: { "idempotency-key": string };
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, TURN_LEASE_MS: "2000" };
    [here, there] = await Promise.all([openTestService(environment), startServiceProcess(environment)]);
  }, 60_000);
  afterAll(async () => {
    await killServiceProcesses();
    await here.close();
    await model.close();
    await database.drop();
  });
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    model.answer({ tokens: WORDS, betweenMs: 100 });
    model.seen.splice(0);
  });

  const ask = (fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const send = (url: string, fields: object = {}, options: StreamOptions = {}): Promise<EventStreamResponse> =>
    postTurn(url, ask(fields), { headers, ...options });
  const stored = async () =>
    (await messagesOf(here.url, "ada", sessionId)).map(({ role, content, completed }) => [role, content, completed]);
  const idOf = (response: { headers: Headers }): string => response.headers.get("x-turn-id") ?? "";
  const statuses = ({ events }: EventStreamResponse): string[] => events.map(({ data }) => data.status);

  /** A turn that has begun in the other process; resolves with its id at its first token. */
  async function startThere(fields: object = {}): Promise<{ turnId: string; ended: Promise<EventStreamResponse | null> }> {
    const { promise: streaming, resolve } = Promise.withResolvers<void>();
    const ended = send(there.url, fields, { onEvent: ({ data }) => void (data.status === "token" && resolve()) }).catch(() => null);
    await streaming;
    const [question] = await messagesOf(here.url, "ada", sessionId);
    return { turnId: String(question?.metadata["turn_id"]), ended };
  }

  test("is waited for by its stream, and told from its outcome behind what the client has had", async () => {
    const { turnId, ended } = await startThere();
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "running" });
    const followed = await streamTurn(here.url, turnId, { lastEventId: "3.10" });
    const told = await ended;
    expect(tokenText(followed.events)).toBe(WORDS.join("").slice(10));
    expect(statuses(followed)).toEqual(["token", "done"]);
    const { timings: early, ...done } = contentOf(followed.events, "done");
    const { timings: whole, ...live } = contentOf(told?.events ?? [], "done");
    expect(done).toEqual(live);
    expect(early.first_token_ms).toBe(whole.first_token_ms);
    expect(statuses(await streamTurn(here.url, turnId))).toEqual(["route_decision", "token", "done"]);
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "done", completed: true });
  });

  test("goes on when the process that waits for its end stops, which says so", async () => {
    model.answer({ tokens: WORDS, betweenMs: 300 });
    const { turnId, ended } = await startThere();
    const stopping = await openTestService(environment);
    const followed = streamTurn(stopping.url, turnId, { lastEventId: "3.10" });
    await expect(getTurn(stopping.url, turnId)).resolves.toMatchObject({ json: { state: "running" } });
    await stopping.close();
    expect(contentOf((await followed).events, "error")).toMatchObject({
      code: "shutting_down",
      message: expect.stringContaining("Request its stream again"),
    });
    const lastEventId = (await followed).events.at(-1)?.id;
    expect(tokenText((await streamTurn(here.url, turnId, { lastEventId })).events)).toBe(WORDS.join("").slice(10));
    await ended;
  });

  test("is cancelled from here", async () => {
    model.answer({ tokens: ["half "], ending: "hang" });
    const { turnId, ended } = await startThere();
    expect((await cancelTurn(here.url, turnId)).json).toEqual({ turn_id: turnId, cancelled: true });
    expect(contentOf((await ended)?.events ?? [], "error").code).toBe("turn_cancelled");
    expect(await stored()).toEqual([
      ["user", "hello", true],
      ["assistant", "half ", false],
    ]);
    expect((await cancelTurn(here.url, turnId)).json.cancelled).toBe(false);
    const told = await streamTurn(here.url, turnId);
    expect([tokenText(told.events), contentOf(told.events, "error").code]).toEqual(["half ", "turn_cancelled"]);
  });

  test("is the one of its key here too, while it runs and afterwards, streamed or whole", async () => {
    const { turnId, ended } = await startThere();
    const [streamed, whole] = await Promise.all([send(here.url), postJson<{ answer: string }>(`${here.url}/api/v1/chat`, ask(), headers)]);
    expect([streamed, whole].map(idOf)).toEqual([turnId, turnId]);
    expect([tokenText(streamed.events), whole.json.answer]).toEqual([WORDS.join(""), WORDS.join("")]);
    const told = contentOf((await ended)?.events ?? [], "done");
    for (const response of [streamed, await send(here.url)]) expect(contentOf(response.events, "done").message_id).toBe(told.message_id);
    expect(await send(here.url, { message: "another" })).toMatchObject({ status: 422 });
    expect(model.seen).toHaveLength(1);
  });

  test.each(["refuse", "enqueue"])("and this one make six requests at once one turn, with on_busy %s", async (on_busy) => {
    const together = await Promise.all([here, there, here, there, here, there].map(({ url }) => send(url, { on_busy })));
    expect(together.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(new Set(together.map(({ events }) => contentOf(events, "done").message_id)).size).toBe(1);
    for (const { events } of together) expect(tokenText(events)).toBe(WORDS.join(""));
    expect(model.seen).toHaveLength(1);
    expect(await stored()).toHaveLength(2);
  });

  test("that is killed in mid-turn is interrupted, and its key runs it again here for the stored message", async () => {
    model.answer({ tokens: ["half "], ending: "hang" });
    const { turnId, ended } = await startThere();
    there.kill("SIGKILL");
    await there.exited;
    await ended;
    const followed = await streamTurn(here.url, turnId);
    expect(contentOf(followed.events, "error")).toMatchObject({ code: "turn_interrupted", retryable: true });
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "interrupted", error: null });
    model.answer({ tokens: ["whole"] });
    const again = await send(here.url);
    expect(contentOf(again.events, "done")).toMatchObject({ answer: "whole", completed: true, receipt: { window_messages: 0 } });
    expect(await stored()).toEqual([
      ["user", "hello", true],
      ["assistant", "whole", true],
    ]);
    there = await startServiceProcess(environment);
    expect(contentOf((await send(there.url)).events, "done").message_id).toBe(contentOf(again.events, "done").message_id);
  }, 60_000);
});

describe("a turn whose acknowledgement is lost between the service and Postgres", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let proxy: TcpProxy;
  let service: TestService;
  let watcher: TestService;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    proxy = await startTcpProxy(database.url);
    [service, watcher] = (await Promise.all(
      [proxy.url, database.url].map((url) => openTestService({ DATABASE_URL: url, OPENAI_BASE_URL: model.url })),
    )) as [TestService, TestService];
  });
  afterEach(() => proxy.restore());
  afterAll(async () => {
    await Promise.all([service.close(), watcher.close()]);
    await proxy.close();
    await model.close();
    await database.drop();
  });

  const body = (sessionId: string) => ({ user_id: "ada", session_id: sessionId, message: "hello" });

  /** A message whose begin is committed while `silence` keeps its reply back; resolves when it is stored. */
  async function loseBegin(sessionId: string, headers: Record<string, string>, silence: () => Promise<void> | void) {
    model.answer({ tokens: ["Hi."] });
    await postTurn(service.url, { ...body(`warm ${sessionId}`), user_id: "grace" });
    // The look for the key is answered still; what follows is not.
    const lock = await holdConversations(database.url);
    const lost = postTurn(service.url, body(sessionId), { headers });
    await lock.untilSomebodyWaits();
    proxy.loseReplies();
    await lock.release();
    await waitUntil("the stored message", async () => (await messagesOf(watcher.url, "ada", sessionId)).length === 1);
    await silence();
    return { lost: await lost };
  }
  const stored = async (sessionId: string) => (await messagesOf(watcher.url, "ada", sessionId)).map(({ content }) => content);

  test("as it begins is found by its id and answered; sent again with its key it is told again", async () => {
    const headers = { "idempotency-key": uuidv7() };
    const { lost } = await loseBegin("found", headers, () => proxy.restore());
    expect(contentOf(lost.events, "done").answer).toBe("Hi.");
    const again = await postTurn(service.url, body("found"), { headers });
    expect(contentOf(again.events, "done")).toEqual(contentOf(lost.events, "done"));
    expect(await stored("found")).toEqual(["hello", "Hi."]);
  }, 60_000);

  test("as it begins, with Postgres away for long behind it, is refused, and goes on with the stored message when its key comes again", async () => {
    const headers = { "idempotency-key": uuidv7() };
    const { lost } = await loseBegin("keyed", headers, () => proxy.refuse());
    expect(lost).toMatchObject({ status: 503, json: { error: { code: "storage_unavailable" } } });
    expect(lost.headers.get("x-turn-id")).not.toBeNull();
    await proxy.restore();
    const again = await postTurn(service.url, body("keyed"), { headers });
    expect(contentOf(again.events, "done").answer).toBe("Hi.");
    expect(await stored("keyed")).toEqual(["hello", "Hi."]);
  }, 60_000);

  test("as it begins, with Postgres away for long behind it and no key, is refused and taken back: sent again it is there once", async () => {
    const { lost } = await loseBegin("keyless", {}, () => proxy.refuse());
    expect(lost).toMatchObject({ status: 503, json: { error: { code: "storage_unavailable" } } });
    await proxy.restore();
    await waitUntil("nothing of it is stored", async () => (await stored("keyless")).length === 0);
    const again = await postTurn(service.url, body("keyless"));
    expect(contentOf(again.events, "done").answer).toBe("Hi.");
    expect(await stored("keyless")).toEqual(["hello", "Hi."]);
  }, 60_000);
});
