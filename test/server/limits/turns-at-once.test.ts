import { beforeEach, describe, expect, test, afterEach, jest } from "@jest/globals";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { makeAdmission, type Overload, watchEventLoop } from "../../../server/limits/admission.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";

const KEYS = "acme-key-1:acme,other-key-1:other";
const AS_ACME = { authorization: "Bearer acme-key-1" };
const AS_OTHER = { authorization: "Bearer other-key-1" };
describe("turns at the same time", () => {
  const limits = { MAX_CONCURRENT_TURNS_PER_USER: "2", MAX_CONCURRENT_TURNS_PER_TENANT: "3" };
  const running = useServiceWithModel({ ...limits, API_KEYS: KEYS });
  let free: () => void;
  beforeEach(hold);

  function hold(): void {
    running.model.seen.length = 0;
    free = running.model.hold();
  }
  const bodyOf = (userId: string, sessionId: string) => ({ user_id: userId, session_id: sessionId, message: "hello" });
  const ask = (userId: string, sessionId: string, fields: object = {}, headers = AS_ACME): Promise<EventStreamResponse> =>
    postTurn(running.url, { ...bodyOf(userId, sessionId), ...fields }, { headers });
  const askKeyed = (userId: string) =>
    postTurn(running.url, bodyOf(userId, "keyed"), { headers: { ...AS_ACME, "idempotency-key": "key" } });
  const refusedOf = (userId: string, sessionId: string, fields: object = {}) =>
    postJson(`${running.url}/api/v1/chat`, { ...bodyOf(userId, sessionId), ...fields }, AS_ACME);
  async function storedCount(userId: string, sessionId: string): Promise<number> {
    const listed = await listConversations(running.url, userId, AS_ACME);
    return listed.find(({ session_id }) => session_id === sessionId)?.message_count ?? 0;
  }
  const TOO_MANY = { status: 429, json: { error: { code: "too_many_turns" } } };

  test("above a user's limit are refused before anything is stored, and are taken when another turn has ended", async () => {
    const turns = [ask("ada", "1"), ask("ada", "2")];
    await running.model.untilAsked(2);
    const refused = await refusedOf("ada", "3");
    expectRefusal(refused, { status: 429, code: "too_many_turns", says: /2 turns.*MAX_CONCURRENT_TURNS_PER_USER/ });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await listConversations(running.url, "ada", AS_ACME)).map(({ session_id }) => session_id).sort()).toEqual(["1", "2"]);
    free();
    await Promise.all(turns);
    expect((await ask("ada", "3")).status).toBe(200);
  });

  test("count together with the turns that wait in line", async () => {
    const first = ask("bea", "1");
    await running.model.untilAsked();
    const waiting = await beginTurn(running.url, { ...bodyOf("bea", "1"), on_busy: "enqueue" }, { headers: AS_ACME });
    expect(await refusedOf("bea", "2")).toMatchObject(TOO_MANY);
    free();
    for (const { status } of await Promise.all([first, waiting.ended])) expect(status).toBe(200);
    expect((await refusedOf("bea", "2")).status).toBe(200);
  });

  test("of one tenant have a limit of their own, apart from other tenants", async () => {
    const turns = [ask("cleo", "1"), ask("cleo", "2"), ask("dan", "1")];
    await running.model.untilAsked(3);
    expectRefusal(await refusedOf("eve", "1"), { status: 429, code: "too_many_turns", says: /MAX_CONCURRENT_TURNS_PER_TENANT/ });
    const other = ask("eve", "1", {}, AS_OTHER);
    await running.model.untilAsked(4);
    free();
    for (const { status } of await Promise.all([...turns, other])) expect(status).toBe(200);
  });

  test("give back their place when they fail, are cancelled, or are refused as busy or invalid", async () => {
    running.model.answer({ status: 400 });
    for (let index = 0; index < 4; index++) await ask("fay", "failed");
    running.model.answer({ tokens: ["one "], ending: "hang" });
    for (let index = 0; index < 4; index++) {
      const onEvent = ({ data }: { data: { status: string } }) => (data.status === "token" ? ("leave" as const) : undefined);
      await postTurn(running.url, bodyOf("fay", `left ${index}`), { headers: AS_ACME, onEvent });
      await waitUntil("the end of the turn", async () => (await storedCount("fay", `left ${index}`)) === 2);
    }
    const left = await beginTurn(running.url, bodyOf("fay", "busy"), { headers: AS_ACME });
    await waitUntil("a turn that holds its conversation", async () => (await storedCount("fay", "busy")) === 1);
    for (let index = 0; index < 4; index++) expect((await refusedOf("fay", "busy")).status).toBe(409);
    for (let index = 0; index < 4; index++) expect((await refusedOf("fay", "x", { message: "" })).status).toBe(400);
    running.model.answer({ tokens: ["yes"] });
    expect((await refusedOf("fay", "last")).status).toBe(200);
    left.leave();
    await waitUntil("the end of the turn", async () => (await storedCount("fay", "busy")) === 2);
  });

  test("with the same key count as one turn, and are answered when there is no place for another message", async () => {
    const turns = [askKeyed("gil"), ask("gil", "other")];
    await running.model.untilAsked(2);
    const attached = [askKeyed("gil"), askKeyed("gil")];
    expect(await refusedOf("gil", "more")).toMatchObject(TOO_MANY);
    free();
    const [first, , ...others] = await Promise.all([...turns, ...attached]);
    const messageId = contentOf(first?.events ?? [], "done").message_id;
    for (const { events } of others) expect(contentOf(events, "done").message_id).toBe(messageId);
    // No slot stays taken, and none was freed twice.
    hold();
    const next = [ask("gil", "1"), ask("gil", "2")];
    await running.model.untilAsked(2);
    expect(await refusedOf("gil", "3")).toMatchObject(TOO_MANY);
    expect(contentOf((await askKeyed("gil")).events, "done").message_id).toBe(messageId);
    const resumed = await streamTurn(running.url, first?.headers.get("x-turn-id") ?? "", { headers: AS_ACME });
    expect(contentOf(resumed.events, "done").message_id).toBe(messageId);
    free();
    for (const { status } of await Promise.all(next)) expect(status).toBe(200);
  });

  test("include another attempt at a failed message", async () => {
    running.model.answer({ tokens: ["half "], ending: "cut" });
    expect(contentOf((await askKeyed("ian")).events, "error").retryable).toBe(true);
    hold();
    const others = [ask("ian", "1"), ask("ian", "2")];
    await running.model.untilAsked(2);
    expect(await askKeyed("ian")).toMatchObject(TOO_MANY);
    free();
    await Promise.all(others);
    hold();
    const turns = [askKeyed("ian"), ask("ian", "3")];
    await running.model.untilAsked(2);
    expect(await refusedOf("ian", "4")).toMatchObject(TOO_MANY);
    free();
    for (const { events } of await Promise.all(turns)) expect(contentOf(events, "done").answer).toBe("yes");
  });
});

const OVERLOADED = { status: 503, code: "overloaded", says: /MAX_TURNS_PER_PROCESS.*Nothing was stored.*again in 2 s/ };
describe("a process with as many turns as it may have", () => {
  const running = useServiceWithModel({ MAX_TURNS_PER_PROCESS: "2", MAX_CONCURRENT_TURNS_PER_USER: "0" });

  const bodyOf = (userId: string): object => ({ user_id: userId, session_id: "s", message: "hello" });
  const ask = (userId: string): Promise<EventStreamResponse> => postTurn(running.url, bodyOf(userId));

  test("refuses the next turn with a time to wait, stores nothing of it, counts it, and has room after a turn ends", async () => {
    const refused = async (why: Overload) =>
      (await readMetrics(running.url)).samples.get(`conversation_graph_turns_refused_total{reason="${why}"}`);
    const before = (await refused("full")) ?? NaN;
    const free = running.model.hold();
    const turns = [ask("ada"), ask("bea")];
    await running.model.untilAsked(2);
    for (const path of ["/api/v1/chat", "/api/v1/chat/stream"]) {
      const answer = await postJson(running.url + path, bodyOf("cleo"));
      expectRefusal(answer, OVERLOADED);
      expect(answer.headers.get("retry-after")).toBe("2");
      expect(answer.headers.get("x-turn-id")).toBeNull();
    }
    const request = { model: "conversation-graph", user: "cleo", messages: [{ role: "user", content: "hello" }] };
    const completion = await postJson<{ error: object }>(`${running.url}/v1/chat/completions`, request);
    expect({ status: completion.status, ...completion.json.error }).toMatchObject({
      status: 503,
      code: "overloaded",
      type: "server_error",
    });
    expect(completion.headers.get("retry-after")).toBe("2");
    expect(await listConversations(running.url, "cleo")).toEqual([]);
    expect(await refused("full")).toBe(before + 3);
    expect(await refused("late")).toBe(0);
    free();
    await Promise.all(turns);
    expect((await ask("cleo")).status).toBe(200);
  });

  test("shows in the metrics how late its event loop is", async () => {
    expect((await readMetrics(running.url)).samples.get("conversation_graph_event_loop_lag_seconds")).toBeGreaterThanOrEqual(0);
  });
});
describe("the admission of turns", () => {
  function admissionWith(lagMs: number, mostTurns = 1) {
    const refused: Overload[] = [];
    const lag = { milliseconds: () => lagMs };
    return { refused, admission: makeAdmission({ mostTurns, lag, onRefused: (why) => refused.push(why) }) };
  }

  test("is closed while the event loop is late, however few turns are running", () => {
    const { admission, refused } = admissionWith(1_001);
    expect(() => admission.enter()).toThrow(/late/);
    expect(refused).toEqual(["late"]);
  });

  test("gives back a place once, even when its holder leaves twice", () => {
    const { admission, refused } = admissionWith(0);
    const leave = admission.enter();
    leave();
    leave();
    admission.enter();
    expect(() => admission.enter()).toThrow(/MAX_TURNS_PER_PROCESS/);
    expect(refused).toEqual(["full"]);
  });

  test("has no limit when the setting is 0", () => {
    const { admission } = admissionWith(0, 0);
    for (let turns = 0; turns < 2_000; turns++) admission.enter();
  });
});
describe("the measured lag of the event loop", () => {
  let now: number;
  beforeEach(() => {
    now = 0;
    jest.useFakeTimers({ doNotFake: ["performance"] });
    jest.spyOn(performance, "now").mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  test("is the lag of a loop that is late all the time for a second, and ignores one long piece of work", () => {
    const lag = watchEventLoop();
    const look = (lateMs: number, times: number): number => {
      for (let time = 0; time < times; time++) {
        now += 100 + lateMs;
        jest.advanceTimersByTime(100);
      }
      return lag.milliseconds();
    };
    expect(look(300, 9)).toBe(0);
    expect(look(300, 1)).toBe(300);
    expect(look(5, 1)).toBe(5);
    expect(look(1_000, 9)).toBe(5);
    expect(look(1_000, 1)).toBe(1_000);
    lag.close();
  });
});
