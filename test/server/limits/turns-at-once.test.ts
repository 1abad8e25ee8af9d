import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { listConversations, postJson } from "../../support/clients/api-client.ts";
import { postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const KEYS = "acme-key-1:acme,other-key-1:other";
const AS_ACME = { authorization: "Bearer acme-key-1" };
const AS_OTHER = { authorization: "Bearer other-key-1" };

describe("turns at once", () => {
  let running: ServiceWithModel;
  let free: () => void;
  beforeAll(async () => {
    const limits = { MAX_CONCURRENT_TURNS_PER_USER: "2", MAX_CONCURRENT_TURNS_PER_TENANT: "3" };
    running = await openServiceWithModel({ ...limits, API_KEYS: KEYS });
  });
  afterAll(() => running.close());
  beforeEach(() => {
    running.model.seen.length = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    free = resolve;
    running.model.answer({ tokens: ["yes"], until: promise });
  });

  const ask = (userId: string, sessionId: string, fields: object = {}, headers = AS_ACME): Promise<EventStreamResponse> =>
    postTurn(running.url, { user_id: userId, session_id: sessionId, message: "hello", ...fields }, { headers });
  const asked = (count: number): Promise<unknown> => waitUntil(`${count} turns at the model`, () => running.model.seen.length === count);
  const refusedOf = (userId: string, sessionId: string) =>
    postJson(`${running.url}/api/v1/chat`, { user_id: userId, session_id: sessionId, message: "hello" }, AS_ACME);

  test("of one user beyond the limit are refused before anything is stored, and let in when one has ended", async () => {
    const turns = [ask("ada", "1"), ask("ada", "2")];
    await asked(2);
    const refused = await refusedOf("ada", "3");
    expectRefusal(refused, { status: 429, code: "too_many_turns", says: /2 turns.*MAX_CONCURRENT_TURNS_PER_USER/ });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await listConversations(running.url, "ada", AS_ACME)).map(({ session_id }) => session_id).sort()).toEqual(["1", "2"]);
    free();
    await Promise.all(turns);
    expect((await ask("ada", "3")).status).toBe(200);
  });

  test("count those that wait in line, too", async () => {
    const turns = [ask("bea", "1"), ask("bea", "1", { on_busy: "enqueue" })];
    await asked(1);
    await waitUntil("a refusal", async () => (await refusedOf("bea", "2")).status === 429);
    free();
    for (const { status } of await Promise.all(turns)) expect(status).toBe(200);
    expect((await refusedOf("bea", "2")).status).toBe(200);
  });

  test("of one tenant have a limit of their own, which is not another tenant's", async () => {
    const turns = [ask("cleo", "1"), ask("cleo", "2"), ask("dan", "1")];
    await asked(3);
    expectRefusal(await refusedOf("eve", "1"), { status: 429, code: "too_many_turns", says: /MAX_CONCURRENT_TURNS_PER_TENANT/ });
    const other = ask("eve", "1", {}, AS_OTHER);
    await asked(4);
    free();
    for (const { status } of await Promise.all([...turns, other])) expect(status).toBe(200);
  });

  test("give their slot back however they end: failed, cancelled, refused as busy or as invalid", async () => {
    running.model.answer({ status: 400 });
    for (let index = 0; index < 4; index++) await ask("fay", "failed");
    running.model.answer({ tokens: ["one "], ending: "hang" });
    for (let index = 0; index < 4; index++) {
      const leave = { onEvent: ({ data }: { data: { status: string } }) => (data.status === "token" ? ("leave" as const) : undefined) };
      const body = { user_id: "fay", session_id: `left ${index}`, message: "hello" };
      await postTurn(running.url, body, { headers: AS_ACME, ...leave });
      await waitUntil("the end of the turn", async () => (await stored("fay", `left ${index}`)).length === 2);
    }
    running.model.answer({ tokens: ["one "], ending: "hang" });
    const holding = ask("fay", "busy").catch(() => undefined);
    await waitUntil("a turn that holds its conversation", async () => (await stored("fay", "busy")).length === 1);
    for (let index = 0; index < 4; index++) expect((await refusedOf("fay", "busy")).status).toBe(409);
    for (let index = 0; index < 4; index++) {
      const wrong = await postJson(`${running.url}/api/v1/chat`, { user_id: "fay", session_id: "x", message: "" }, AS_ACME);
      expect(wrong.status).toBe(400);
    }
    running.model.answer({ tokens: ["yes"] });
    expect((await refusedOf("fay", "last")).status).toBe(200);
    void holding;
  });

  const stored = async (userId: string, sessionId: string): Promise<unknown[]> => {
    const found = (await listConversations(running.url, userId, AS_ACME)).find(({ session_id }) => session_id === sessionId);
    return Array.from({ length: found?.message_count ?? 0 });
  };
});
