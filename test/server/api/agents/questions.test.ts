import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, listMessages } from "../../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, expireQuestions, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const database = useTestPostgres();
const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
let client: ReturnType<typeof askingClient>;
beforeEach(() => {
  client = askingClient(opened);
  ordered.length = 0;
});

const tea = callOf("order", { item: "tea" });

describe("a call that needs permission", () => {
  test("waits, runs when the person allows it, and the same turn then goes on to its answer", async () => {
    await client.makeAgent("asks");
    client.follow([tea], "Ordered.");
    const asked = await client.ask("asks", { session_id: "story" });
    expect(statuses(asked)).toEqual(["route_decision", "tool_call", "permission_asked", "waiting"]);
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({ type: "permission", agent: "asks", tool: { name: "order", arguments: { item: "tea" } } });
    expect(waiting.question).toEqual(contentOf(asked.events, "permission_asked"));
    expect(ordered).toEqual([]);
    expect(await client.turn(waiting)).toMatchObject({ state: "waiting", question: waiting.question });
    expect(await client.open()).toMatchObject([{ ...waiting.question, turn_id: waiting.turn_id }]);
    expect(statuses(await client.rest(waiting))).toEqual(["permission_asked", "waiting"]);

    const refused = await postTurn(opened.url, { user_id: "ada", session_id: "story", message: "And?" });
    expect([refused.status, refused.json?.error.code]).toEqual([409, "conversation_waiting"]);
    expect(refused.json?.error.message).toContain(waiting.turn_id);

    expect((await client.answer(waiting, { answer: "allow_once" })).status).toBe(201);
    const rest = await client.rest(waiting);
    expect(statuses(rest)).toEqual(["permission_replied", "tool_result", "token", "done"]);
    expect(contentOf(rest.events, "permission_replied")).toEqual({ question_id: waiting.question.id, answer: "allow_once", by: "person" });
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "Ordered.", agent: "asks", tool_calls: 1, steps: 4 });
    expect(ordered).toEqual(['{"item":"tea"}']);
    const { json } = await callApi<{ steps: object[] }>(`${opened.url}/api/v1/turns/${waiting.turn_id}/steps`);
    expect(json.steps).toMatchObject([
      { kind: "model" },
      { kind: "tool", name: "order", output: "ordered tea", ok: true },
      { kind: "question", name: "permission", output: '"allow_once"', ok: true },
      { kind: "model" },
    ]);
    expect(opened.model.seen.at(-1)?.body.messages.slice(-2)).toMatchObject([
      { role: "assistant", tool_calls: [{ function: { name: "order", arguments: '{"item":"tea"}' } }] },
      { role: "tool", content: expect.stringContaining("ordered tea") },
    ]);
    expect((await listMessages(opened.url, waiting.conversation_id)).map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect((await client.turn(waiting)).state).toBe("done");
  });

  test("is not run when the person denies it, and the model reads why", async () => {
    await client.makeAgent("asks");
    client.follow([tea], "Then not.");
    const waiting = await client.untilWaiting("asks");
    await client.answer(waiting, { answer: "deny", text: "Coffee is enough." });
    const rest = await client.rest(waiting);
    expect(contentOf(rest.events, "tool_result")).toMatchObject({ ok: false, output: expect.stringContaining("Coffee is enough.") });
    expect(contentOf(rest.events, "done").answer).toBe("Then not.");
    expect(ordered).toEqual([]);
  });

  test("counts as denied within two seconds when nobody answers in time", async () => {
    await client.makeAgent("asks");
    client.follow([tea], "Then not.");
    const waiting = await client.untilWaiting("asks");
    await expireQuestions(database);
    await waitUntil("the turn has gone on", async () => (await client.turn(waiting)).state === "done", 2_000);
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 410, code: "question_expired", says: /in time/ });
    expect(ordered).toEqual([]);
  });

  test("does not delay allowed calls of the same answer, and several such calls are asked about one after the other", async () => {
    await client.makeAgent("asks");
    client.follow([callOf("order", { item: "tea" }, "a"), callOf("look_up", {}, "b"), callOf("order", { item: "milk" }, "c")], "Done.");
    const asked = await client.ask("asks");
    expect(statuses(asked)).toEqual([
      ...["route_decision", "tool_call", "tool_call", "tool_call", "tool_result", "permission_asked", "waiting"],
    ]);
    const first = contentOf(asked.events, "waiting");
    await client.answer(first, { answer: "allow_once" });
    const second = contentOf((await client.rest(first)).events, "waiting");
    expect([first, second].map(({ question }) => question.tool?.arguments)).toEqual([{ item: "tea" }, { item: "milk" }]);
    await client.answer(second, { answer: "deny" });
    const done = contentOf((await client.rest(second)).events, "done");
    expect(done).toMatchObject({ answer: "Done.", tool_calls: 3 });
    expect(ordered).toEqual(['{"item":"tea"}']);
    const results = opened.model.seen
      .at(-1)
      ?.body.messages.slice(-4)
      .map(({ role, content }) => [role, String(content).slice(14, 30)]);
    expect(results).toMatchObject([
      ["assistant", ""],
      ["tool", "> ordered tea\n</"],
      ["tool", "> 12 left\n</tool"],
      ["tool", expect.anything()],
    ]);
  });

  test('is not asked about again after "allow_always", until this is revoked or the tool has changed', async () => {
    await client.makeAgent("always");
    client.follow([tea], "Ordered.");
    const waiting = await client.untilWaiting("always");
    await client.answer(waiting, { answer: "allow_always" });
    await client.rest(waiting);
    const again = async () => {
      client.follow([tea], "Ordered.");
      const answer = await client.ask("always");
      const asked = answer.events.find(({ data }) => data.status === "waiting");
      if (asked?.data.status === "waiting") await client.answer(asked.data.content, { answer: "deny" });
      return statuses(answer).at(-1);
    };
    expect(await again()).toBe("done");
    await database.query({ text: "update permissions set digest = 'of the tool before it changed'" });
    expect(await again()).toBe("waiting");
    const [kept, ...others] = await client.permissions();
    expect([kept, others]).toMatchObject([{ agent: "always", tool: "order" }, []]);
    expect((await callApi(`${opened.url}/api/v1/users/bob/permissions/${kept?.id}`, { method: "DELETE" })).status).toBe(404);
    expect((await callApi(`${opened.url}/api/v1/users/ada/permissions/${kept?.id}`, { method: "DELETE" })).status).toBe(200);
    expect(await client.permissions()).toEqual([]);
    expect(await again()).toBe("waiting");
  });

  test("runs with exactly the arguments that the person saw, whatever else the model wrote", async () => {
    await client.makeAgent("asks");
    const written =
      '{ "item": "t\\u0065a", "z": 1, "a": [1.50, {"__proto__": 2}], "item": "t\\u0065a\\u0000!", "big": 12345678901234567890 }';
    client.follow([callOf("order", written)], "Ordered.");
    const waiting = await client.untilWaiting("asks");
    await client.answer(waiting, { answer: "allow_once" });
    await client.rest(waiting);
    expect(ordered).toEqual([JSON.stringify(waiting.question.tool?.arguments)]);
  });
});

test("several calls of the caller's own tools are one question, which all of their results answer together", async () => {
  await client.makeAgent("caller");
  client.follow([callOf("at_caller", { a: 1 }, "one"), callOf("at_caller", { a: 2 }, "two")], "Both.");
  const waiting = await client.untilWaiting("caller");
  expect(waiting.question).toMatchObject({
    type: "client_tool",
    calls: [{ call_id: "one", name: "at_caller", arguments: { a: 1 } }, { call_id: "two" }],
  });
  const results = [
    { call_id: "one", output: "first" },
    { call_id: "two", output: "second" },
  ];
  expectRefusal(await client.answer(waiting, { results: results.slice(1) }), {
    status: 400,
    code: "invalid_request",
    says: /lacks the calls one/,
  });
  expect((await client.answer(waiting, { results })).status).toBe(201);
  expect(contentOf((await client.rest(waiting)).events, "done").answer).toBe("Both.");
  const read = opened.model.seen
    .at(-1)
    ?.body.messages.slice(-2)
    .map(({ content }) => content);
  expect(read).toEqual(["<tool_output>\n> first\n</tool_output>", "<tool_output>\n> second\n</tool_output>"]);
});

test("a member's call that needs permission is the turn's question, and is not run where nobody can be asked", async () => {
  await client.makeAgent("worker", { tools: ["order"], instructions: "You work." });
  await client.makeAgent("boss", { tools: [], subagents: ["worker"], permissions: [] });
  await client.makeAgent("boss", { tools: ["look_up"], subagents: ["worker"] });
  opened.model.answer(({ messages }) => {
    const hasResult = messages.at(-1)?.role === "tool";
    if (hasResult) return { tokens: ["Not allowed."] };
    if (String(messages[0]?.content).includes("You work.")) return { toolCalls: [tea] };
    return { toolCalls: [callOf("ask_agent", { agent: "worker", task: "order tea" })] };
  });
  expect(statuses(await client.ask("boss")).at(-1)).toBe("waiting");
  expect(statuses(await client.ask("boss", { session_id: "alone", interactive: false })).at(-1)).toBe("done");
  expect(ordered).toEqual([]);
});
