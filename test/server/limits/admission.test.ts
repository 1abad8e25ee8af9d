import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeAdmission, type Overload, watchEventLoop } from "../../../server/limits/admission.ts";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { contentOf, type EventStreamResponse, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

const OVERLOADED = { status: 503, code: "overloaded", says: /MAX_TURNS_PER_PROCESS.*Nothing was stored.*again in 2 s/ };

describe("a process with as many turns as it may have", () => {
  let running: ServiceWithModel;
  let free: () => void;
  beforeAll(async () => {
    running = await openServiceWithModel({ MAX_TURNS_PER_PROCESS: "2", MAX_CONCURRENT_TURNS_PER_USER: "0" });
  });
  afterAll(() => running.close());
  beforeEach(() => {
    running.model.seen.length = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    free = resolve;
    running.model.answer({ tokens: ["yes"], until: promise });
  });

  const bodyOf = (userId: string, fields: object = {}): object => ({ user_id: userId, session_id: "s", message: "hello", ...fields });
  const ask = (userId: string, fields: object = {}, headers: Record<string, string> = {}): Promise<EventStreamResponse> =>
    postTurn(running.url, bodyOf(userId, fields), { headers });
  const asked = (count: number): Promise<unknown> => waitUntil(`${count} turns at the model`, () => running.model.seen.length === count);
  const refusedFor = async (why: Overload): Promise<number | undefined> =>
    (await readMetrics(running.url)).samples.get(`conversation_graph_turns_refused_total{reason="${why}"}`);

  test("refuses the next one at once, stores nothing of it, says when to come back, counts it, and has room again behind the first that ends", async () => {
    const before = (await refusedFor("full")) ?? NaN;
    const turns = [ask("ada"), ask("bea")];
    await asked(2);
    for (const path of ["/api/v1/chat", "/api/v1/chat/stream"]) {
      const refused = await postJson(running.url + path, bodyOf("cleo"));
      expectRefusal(refused, OVERLOADED);
      expect(refused.headers.get("retry-after")).toBe("2");
      expect(refused.headers.get("x-turn-id")).toBeNull();
    }
    expect(await listConversations(running.url, "cleo")).toEqual([]);
    expect(await refusedFor("full")).toBe(before + 2);
    expect(await refusedFor("late")).toBe(0);
    free();
    await Promise.all(turns);
    expect((await ask("cleo")).status).toBe(200);
  });

  test("refuses chats of OpenAI's protocol in its words", async () => {
    const turns = [ask("ada"), ask("bea")];
    await asked(2);
    const request = { model: "conversation-graph", user: "cleo", messages: [{ role: "user", content: "hello" }] };
    const refused = await postJson<{ error: object }>(`${running.url}/v1/chat/completions`, request);
    expect(refused.status).toBe(503);
    expect(refused.json.error).toMatchObject({ code: "overloaded", type: "server_error" });
    expect(refused.headers.get("retry-after")).toBe("2");
    free();
    await Promise.all(turns);
  });

  test("counts a turn that waits in line, which will be answered here", async () => {
    const first = ask("ada");
    await asked(1);
    // Its headers come as soon as it waits.
    const waiting = await fetch(`${running.url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(bodyOf("ada", { on_busy: "enqueue" })),
    });
    expectRefusal(await postJson(`${running.url}/api/v1/chat`, bodyOf("bea")), OVERLOADED);
    free();
    expect(contentOf((await first).events, "done").completed).toBe(true);
    expect(await waiting.text()).toContain('"status":"done"');
  });

  test("tells a message that comes again with its key, and a turn that is resumed, because that starts nothing", async () => {
    const headers = { "idempotency-key": uuidv7() };
    const first = ask("ada", {}, headers);
    await asked(1);
    const other = ask("bea");
    await asked(2);
    const attached = ask("ada", {}, headers);
    await waitUntil("two turns inside", async () => (await postJson(`${running.url}/api/v1/chat`, bodyOf("cleo"))).status === 503);
    free();
    const turnId = (await first).headers.get("x-turn-id") ?? "";
    expect(contentOf((await attached).events, "done")).toEqual(contentOf((await first).events, "done"));
    await other;

    const { promise, resolve } = Promise.withResolvers<void>();
    running.model.answer({ tokens: ["yes"], until: promise });
    const full = [ask("dan"), ask("eve")];
    await asked(4);
    expectRefusal(await postJson(`${running.url}/api/v1/chat`, bodyOf("fay")), OVERLOADED);
    expect(contentOf((await ask("ada", {}, headers)).events, "done").completed).toBe(true);
    expect(contentOf((await streamTurn(running.url, turnId)).events, "done").completed).toBe(true);
    resolve();
    await Promise.all(full);
  });

  test("tells how late its event loop is", async () => {
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

  test("gives a place back once, however often its holder leaves", () => {
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

describe("the lag of an event loop", () => {
  /** Holds the loop for so many milliseconds again and again. */
  async function holdFor(ms: number, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      const until = performance.now() + ms;
      while (performance.now() < until);
      await new Promise(setImmediate);
    }
  }

  test("is that of a loop that is late at every look, and none of one piece of work, however long", async () => {
    const lag = watchEventLoop();
    await holdFor(5, 220);
    await holdFor(1_000, 1);
    expect(lag.milliseconds()).toBeLessThan(150);
    await holdFor(300, 12);
    expect(lag.milliseconds()).toBeGreaterThan(150);
    lag.close();
  }, 30_000);
});
