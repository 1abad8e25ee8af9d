import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { contentOf, postTurn, readEvents, tokenText } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";

const database = useTestPostgres();
const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
let client: ReturnType<typeof askingClient>;
beforeEach(() => {
  client = askingClient(opened);
  ordered.length = 0;
});

const tea = callOf("order", { item: "tea" });

describe("a waiting turn", () => {
  beforeEach(async () => {
    await client.makeAgent("asks");
    client.follow([tea], "Ordered.");
  });

  test("answers POST /api/v1/chat with 202 and the question, and its answer can be read as a stream at once", async () => {
    const body = { user_id: "ada", session_id: "whole", message: "Order tea.", agent: "asks" };
    const { status, json } = await postJson<Awaited<ReturnType<typeof client.untilWaiting>>>(`${opened.url}/api/v1/chat`, body);
    expect([status, json.question.type]).toEqual([202, "permission"]);
    const response = await fetch(`${opened.url}/api/v1/turns/${json.turn_id}/answers`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ question_id: json.question.id, answer: "allow_once" }),
    });
    const { events } = await readEvents(response);
    expect([tokenText(events), events.at(-1)?.data.status]).toEqual(["Ordered.", "done"]);
  });

  test("goes on with its event ids: a reader misses nothing and gets nothing twice", async () => {
    opened.model.answer(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { tokens: ["Tea ", "is ordered."] } : { tokens: ["One moment. "], toolCalls: [tea] },
    );
    const asked = await client.ask("asks");
    const waiting = contentOf(asked.events, "waiting");
    const lastId = asked.events.at(-1)?.id;
    await client.answer(waiting, { answer: "allow_once" });
    const rest = await client.rest(waiting, opened.url, lastId);
    expect(statuses(rest)).toEqual(["permission_replied", "tool_result", "token", "token", "done"]);
    expect(tokenText([...asked.events, ...rest.events])).toBe("One moment. Tea is ordered.");
    const again = await client.rest(waiting, opened.url, rest.events.at(2)?.id);
    expect(tokenText(again.events)).toBe("is ordered.");
  });

  test("is found again with its Idempotency-Key", async () => {
    const fields = { session_id: "keyed" };
    const headers = { "idempotency-key": "order-tea" };
    const first = await client.ask("asks", fields, { headers });
    const waiting = contentOf(first.events, "waiting");
    const { question, turn_id } = waiting;
    expect(contentOf((await client.ask("asks", fields, { headers })).events, "waiting")).toMatchObject({ question, turn_id });
    await client.answer(waiting, { answer: "allow_once" });
    await client.rest(waiting);
    expect(contentOf((await client.ask("asks", fields, { headers })).events, "done").answer).toBe("Ordered.");
    expect(ordered).toHaveLength(1);
  });

  test.each(["POST …/cancel", "cancel_waiting", "interrupt"])("ends by %s, and its conversation is free", async (how) => {
    const waiting = await client.untilWaiting("asks", { session_id: how });
    if (how.startsWith("POST")) {
      const { json } = await postJson<{ cancelled: boolean }>(`${opened.url}/api/v1/turns/${waiting.turn_id}/cancel`, {});
      expect(json.cancelled).toBe(true);
    }
    client.follow("Hello.");
    const body = { user_id: "ada", session_id: how, message: "Hello.", agent: "assistant" };
    const next = await postTurn(opened.url, { ...body, ...(how.startsWith("POST") ? {} : { on_busy: how }) });
    expect(statuses(next).at(-1)).toBe("done");
    expect(await client.turn(waiting)).toMatchObject({ state: "failed", question: null, error: { code: "turn_cancelled" } });
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 410, code: "question_expired", says: /was ended/ });
    expect([ordered, await client.open()]).toEqual([[], []]);
  });

  test("leaves nothing of its question when its conversation or its user is erased", async () => {
    const [waiting, other] = [await client.untilWaiting("asks"), await client.untilWaiting("asks")];
    expect((await callApi(`${opened.url}/api/v1/conversations/${waiting.conversation_id}`, { method: "DELETE" })).status).toBe(200);
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 404, code: "not_found", says: /no question/ });
    await client.answer(other, { answer: "allow_always" });
    await client.rest(other);
    expect((await callApi(`${opened.url}/api/v1/users/ada`, { method: "DELETE" })).status).toBe(200);
    expect(await database.query({ text: "select 1 from questions" })).toEqual([]);
    expect(await database.query({ text: "select 1 from permissions" })).toEqual([]);
  });

  test.each<[string, object, RegExp]>([
    ["another option", { answer: "perhaps" }, /answer.*allow_once, allow_always, deny/],
    ["nothing", {}, /answer.*is missing/],
    ["several options", { answer: ["deny", "allow_once"] }, /takes one/],
    ["results", { answer: "deny", results: [] }, /results/],
    ["an unknown field", { answer: "deny", arguments: { item: "gold" } }, /arguments/],
  ])("refuses %s as its answer, and waits on", async (_what, body, says) => {
    const waiting = await client.untilWaiting("asks");
    expectRefusal(await client.answer(waiting, body), { status: 400, code: "invalid_request", says });
    expect((await client.turn(waiting)).state).toBe("waiting");
    expect((await client.answer(waiting, { answer: "deny" })).status).toBe(201);
  });
});
