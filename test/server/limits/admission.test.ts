import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { makeAdmission, type Overload, watchEventLoop } from "../../../server/limits/admission.ts";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { type EventStreamResponse, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const OVERLOADED = { status: 503, code: "overloaded", says: /MAX_TURNS_PER_PROCESS.*Nothing was stored.*again in 2 s/ };

describe("a process with as many turns as it may have", () => {
  const running = useServiceWithModel({ MAX_TURNS_PER_PROCESS: "2", MAX_CONCURRENT_TURNS_PER_USER: "0" });

  const bodyOf = (userId: string): object => ({ user_id: userId, session_id: "s", message: "hello" });
  const ask = (userId: string): Promise<EventStreamResponse> => postTurn(running.url, bodyOf(userId));

  test("refuses the next turn, stores nothing of it, says when to come back, counts it, and has room again behind the first that ends", async () => {
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

  test("measures how late its event loop is", async () => {
    expect((await readMetrics(running.url)).samples.get("conversation_graph_event_loop_lag_seconds")).toBeGreaterThanOrEqual(0);
  });
});

describe("admission", () => {
  function admissionWith(lagMs: number, mostTurns = 1) {
    const refused: Overload[] = [];
    const lag = { milliseconds: () => lagMs };
    return { refused, admission: makeAdmission({ mostTurns, lag, onRefused: (why) => refused.push(why) }) };
  }

  test("is closed while the event loop is late, however few turns are inside", () => {
    const { admission, refused } = admissionWith(1_001);
    expect(() => admission.enter()).toThrow(/late/);
    expect(refused).toEqual(["late"]);
  });

  test("frees a place once, however often its holder leaves", () => {
    const { admission, refused } = admissionWith(0);
    const leave = admission.enter();
    leave();
    leave();
    admission.enter();
    expect(() => admission.enter()).toThrow(/MAX_TURNS_PER_PROCESS/);
    expect(refused).toEqual(["full"]);
  });

  test("has no limit when that is 0", () => {
    const { admission } = admissionWith(0, 0);
    for (let turns = 0; turns < 2_000; turns++) admission.enter();
  });
});

describe("the lag of the event loop", () => {
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

  test("is that of a loop that is late at every look of a second, and none of one piece of work, however long", () => {
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
