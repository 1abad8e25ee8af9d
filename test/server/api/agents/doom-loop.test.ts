import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Waiting } from "../../../../turn/events.ts";
import type { ScriptedToolCall } from "../../../servers/model-server.ts";
import { contentOf, type EventStreamResponse } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, expireQuestions, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const database = useTestPostgres();
const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
let client: ReturnType<typeof askingClient>;
beforeEach(async () => {
  client = askingClient(opened);
  ordered.length = 0;
  await client.makeAgent("loops", { permissions: [{ tool: "order", action: "allow" }] });
});

const tea = callOf("order", { item: "tea", sugar: 1 });
/** The same, written in another way. */
const sameTea = callOf("order", '{ "sugar": 1.0, "item": "te\\u0061" }');
const milk = callOf("order", { item: "milk" });

/** The model makes these calls until it has no tools any more. */
function call(...script: ScriptedToolCall[][]): void {
  let next = 0;
  opened.model.answer(({ tools }) => {
    // The end of a turn that an earlier test stopped takes nothing of the script.
    const calls = (tools?.length ?? 0) > 0 ? (script[Math.min(next++, script.length - 1)] ?? []) : [];
    return calls.length > 0 ? { toolCalls: calls } : { tokens: ["From what there is."] };
  });
}

const results = ({ events }: EventStreamResponse): boolean[] =>
  events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content.ok] : []));
const lastRead = () => opened.model.seen.at(-1)?.body;
const readText = (): string => JSON.stringify(lastRead()?.messages);

/** Ends the turn, so that the next test has the model alone. */
async function stop(waiting: Waiting): Promise<EventStreamResponse> {
  await client.answer(waiting, { answer: "stop" });
  return client.rest(waiting);
}

async function untilLoop(fields: object = {}) {
  const asked = await client.ask("loops", fields);
  return { asked, waiting: contentOf(asked.events, "waiting") };
}

describe("the third call with the same arguments", () => {
  beforeEach(() => call([tea], [sameTea], [tea]));

  test("is not run, and the person is asked how to go on", async () => {
    const { asked, waiting } = await untilLoop();
    expect(statuses(asked).slice(-4)).toEqual(["tool_call", "doom_loop_detected", "decision_asked", "waiting"]);
    expect(contentOf(asked.events, "doom_loop_detected")).toMatchObject({ name: "order", arguments: { item: "tea", sugar: 1 }, count: 3 });
    expect([results(asked), ordered.length]).toEqual([[true, true], 2]);
    expect(waiting.question).toMatchObject({ type: "decision", tool: { name: "order", arguments: { item: "tea", sugar: 1 } } });
    expect(waiting.question.options.map(({ label, is_recommended }) => [label, is_recommended])).toEqual([
      ...[
        ["stop", true],
        ["continue", false],
        ["correct", false],
        ["skip", false],
      ],
    ]);
    await stop(waiting);
  });

  test('ends with the answer "stop", and the model answers from what there is, without tools', async () => {
    const { waiting } = await untilLoop();
    const rest = await stop(waiting);
    expect(statuses(rest)).toEqual(["decision_answered", "tool_result", "token", "done"]);
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "From what there is.", completed: true, tool_calls: 3 });
    expect([lastRead()?.tools ?? [], ordered.length]).toEqual([[], 2]);
    expect(readText()).toContain("the person stopped it: no more tools can be called");
  });

  test('runs with the answer "continue", and then two more run before the next question', async () => {
    const { waiting } = await untilLoop();
    await client.answer(waiting, { answer: "continue" });
    const rest = await client.rest(waiting);
    expect(results(rest)).toEqual([true, true]);
    expect(ordered).toHaveLength(4);
    const again = contentOf(rest.events, "waiting");
    expect(again.question.id).not.toBe(waiting.question.id);
    await client.answer(again, { answer: "continue" });
    const third = await client.rest(again);
    expect([results(third), ordered.length]).toEqual([[true, true], 6]);
    await stop(contentOf(third.events, "waiting"));
  });

  test.each<[how: string, answer: object]>([
    ['"correct" with words', { answer: "correct", text: "要牛奶，不要茶。" }],
    ["the person's words alone", { text: "要牛奶，不要茶。" }],
  ])("is not run when the answer is %s, and the model reads what to do instead", async (_how, answer) => {
    call([tea], [tea], [tea], [milk], []);
    const { waiting } = await untilLoop();
    expect((await client.answer(waiting, answer)).status).toBe(201);
    const rest = await client.rest(waiting);
    expect(results(rest)).toEqual([false, true]);
    expect(readText()).toContain("The person says: 要牛奶，不要茶。");
    expect(ordered.at(-1)).toBe('{"item":"milk"}');
  });

  test('cannot be answered with "correct" but no words', async () => {
    const { waiting } = await untilLoop();
    expectRefusal(await client.answer(waiting, { answer: "correct" }), { status: 400, code: "invalid_request", says: /text: is missing/ });
    await stop(waiting);
  });

  test('is skipped with the answer "skip", which the model reads, and the next such call asks again', async () => {
    const { waiting } = await untilLoop();
    await client.answer(waiting, { answer: "skip" });
    const rest = await client.rest(waiting);
    expect(contentOf(rest.events, "tool_result")).toMatchObject({ ok: false, output: expect.stringContaining("The person skipped it.") });
    expect(statuses(rest).at(-1)).toBe("waiting");
    expect(ordered).toHaveLength(2);
    await stop(contentOf(rest.events, "waiting"));
  });

  test("stops the loop when nobody answers or nobody can be asked", async () => {
    const { waiting } = await untilLoop();
    await expireQuestions(database);
    await waitUntil("the turn has gone on", async () => (await client.turn(waiting)).state === "done");
    expect(readText()).toContain("nobody said how to go on");
    call([tea], [tea], [tea]);
    const alone = await client.ask("loops", { interactive: false });
    expect(statuses(alone).slice(-6)).toEqual([
      ...["doom_loop_detected", "decision_asked", "decision_answered", "tool_result", "token", "done"],
    ]);
    expect(contentOf(alone.events, "decision_answered")).toMatchObject({ answer: "stop", by: "rule" });
    expect(ordered).toHaveLength(4);
  });
});

test("two calls that alternate are a loop, too", async () => {
  call([tea], [milk], [tea], [milk], [tea], [milk]);
  const { asked, waiting } = await untilLoop();
  expect([contentOf(asked.events, "doom_loop_detected").count, ordered.length]).toEqual([3, 4]);
  expect(contentOf((await stop(waiting)).events, "done").completed).toBe(true);
});

test('when one answer makes the same call three times, the third call waits, and "stop" drops it and the calls after it', async () => {
  await client.makeAgent("loops", {
    permissions: [
      { tool: "order", action: "allow" },
      { tool: "look_up", action: "ask" },
    ],
  });
  call([tea, { ...tea, id: "b" }, { ...tea, id: "c" }, { ...callOf("look_up", {}), id: "d" }]);
  const { waiting } = await untilLoop();
  expect(ordered).toHaveLength(2);
  const rest = await stop(waiting);
  expect(results(rest)).toEqual([false, false]);
  expect(contentOf(rest.events, "done").answer).toBe("From what there is.");
});

test("the time that a person takes to answer does not count when the service looks for repeated calls", async () => {
  await client.makeAgent("loops", { permissions: [] });
  call([tea]);
  const first = await client.untilWaiting("loops");
  await client.answer(first, { answer: "allow_once" });
  const second = contentOf((await client.rest(first)).events, "waiting");
  expect(second.question.type).toBe("permission");
  // As if both had waited for an hour.
  const hourAgo = "started_at = started_at - interval '1 hour'";
  await database.query({ text: `update turn_steps set ${hourAgo} where kind = 'question'` });
  await database.query({ text: `update turn_steps set ${hourAgo}, ended_at = ended_at - interval '1 hour' where kind = 'tool'` });
  await client.answer(second, { answer: "allow_once" });
  const third = contentOf((await client.rest(second)).events, "waiting");
  expect(third.question).toMatchObject({ type: "decision", options: [{ label: "stop" }, {}, {}, {}] });
  await client.answer(third, { answer: "continue" });
  const fourth = contentOf((await client.rest(third)).events, "waiting");
  expect(fourth.question.type).toBe("permission"); // to go on is no permission
  await client.answer(fourth, { answer: "deny" });
  // The calls before the one that went on count no more: this is the second.
  const fifth = contentOf((await client.rest(fourth)).events, "waiting");
  expect(fifth.question.type).toBe("permission");
  await client.answer(fifth, { answer: "deny" });
  expect(contentOf((await client.rest(fifth)).events, "waiting").question.type).toBe("decision");
});

test("a tool that fails three times in the same way ends the loop with an answer, even when a question came between", async () => {
  const wrong = (index: number) => [callOf("calculate", { expression: index }, `c${index}`)];
  call(wrong(1), wrong(2), wrong(3), wrong(4));
  const answer = await client.ask("loops");
  expect(results(answer)).toEqual([false, false, false]);
  expect(contentOf(answer.events, "notice")).toMatchObject({ code: "agent_limit", message: expect.stringContaining("failed three times") });
  expect(contentOf(answer.events, "done")).toMatchObject({ answer: "From what there is.", completed: true });
  expect(readText()).toContain('\\"calculate\\" has failed three times in the same way: no more tools');

  await client.makeAgent("loops", { permissions: [] });
  call(wrong(1), wrong(2), [tea], [...wrong(3), milk], wrong(4));
  const waiting = await client.untilWaiting("loops");
  await client.answer(waiting, { answer: "allow_once" });
  const rest = await client.rest(waiting);
  expect(statuses(rest).at(-1)).toBe("done"); // the call that needs permission is left out
  expect(results(rest)).toEqual([true, false, false]);
  expect(ordered).toEqual(['{"item":"tea","sugar":1}']);
});
