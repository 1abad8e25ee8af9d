import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
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
  await client.makeAgent("asks", { permissions: [{ tool: "order", action: "allow" }] });
});

const options = [
  { label: "green", description: "Mild." },
  { label: "black", description: "Strong.", is_recommended: true },
];
const clarify = (fields: object = {}) =>
  callOf("ask_clarification", { question_type: "scope", question: "Which tea?", options, ...fields }, "q");
const decide = (fields: object = {}) => callOf("ask_decision", { decision_type: "method", context: "Which tea?", options, ...fields }, "q");

/** What the model read last. */
const read = (): string => String(opened.model.seen.at(-1)?.body.messages.at(-1)?.content);

describe("a model's question", () => {
  test("makes the turn wait, and the person's answer is the result that the model reads", async () => {
    client.follow([clarify()], "Green it is.");
    const asked = await client.ask("asks");
    expect(statuses(asked)).toEqual(["route_decision", "tool_call", "clarification_asked", "waiting"]);
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({
      ...{ type: "clarification", agent: "asks", question: "Which tea?", allow_multiple: false, required: false },
      options: [
        { label: "green", description: "Mild.", is_recommended: false },
        { label: "black", description: "Strong.", is_recommended: true },
      ],
    });
    expect(await client.open()).toMatchObject([waiting.question]);
    await client.answer(waiting, { answer: "green", text: "But only half a cup." });
    const rest = await client.rest(waiting);
    expect(statuses(rest)).toEqual(["clarification_answered", "tool_result", "token", "done"]);
    expect(contentOf(rest.events, "clarification_answered")).toEqual({ question_id: waiting.question.id, answer: "green", by: "person" });
    expect(contentOf(rest.events, "tool_result")).toMatchObject({ name: "ask_clarification", ok: true, cut: false });
    expect(read()).toContain('The person chose "green". They say: But only half a cup.');
    const { json } = await callApi<{ steps: object[] }>(`${opened.url}/api/v1/turns/${waiting.turn_id}/steps`);
    expect(json.steps).toMatchObject([
      { kind: "model" },
      { kind: "tool", name: "ask_clarification", ok: true, output: expect.stringContaining('"green"') },
      { kind: "question", name: "clarification", output: '"green"' },
      { kind: "model" },
    ]);
  });

  test.each<[what: string, fields: object, answer: object, told: string]>([
    ["one option", {}, { answer: "black" }, 'The person chose "black".'],
    ["the person's own words alone", {}, { text: "白茶，谢谢。" }, "The person says: 白茶，谢谢。"],
    ["several options", { allow_multiple: true }, { answer: ["black", "green"] }, 'The person chose "black", "green".'],
    ["one option of several", { allow_multiple: true }, { answer: ["green"], text: "Cold." }, 'The person chose "green". They say: Cold.'],
  ])("can be answered with %s", async (_what, fields, answer, told) => {
    client.follow([decide(fields)], "Done.");
    const waiting = await client.untilWaiting("asks");
    expect(waiting.question.type).toBe("decision");
    expect((await client.answer(waiting, answer)).status).toBe(201);
    const rest = await client.rest(waiting);
    expect(statuses(rest).slice(0, 2)).toEqual(["decision_answered", "tool_result"]);
    expect(read()).toContain(told);
  });

  test.each<[what: string, call: ReturnType<typeof callOf>, answer: unknown, told: RegExp]>([
    ["takes the recommended option", clarify(), "black", /What you recommended counts: "black"/],
    [
      "leaves it to the model when nothing is recommended",
      clarify({ options: ["a", "b"].map((label) => ({ label })) }),
      null,
      /what you assumed/,
    ],
    ["counts as no when it is about a risk", decide({ decision_type: "risk" }), "no", /counts as "no": do not do it/],
    ["counts as no when it asks to confirm", decide({ decision_type: "confirmation" }), "no", /counts as "no"/],
  ])("that nobody answers, or that nobody can be asked, %s", async (_what, call, answer, told) => {
    client.follow([call], "Done.");
    const waiting = await client.untilWaiting("asks");
    await expireQuestions(database);
    await waitUntil("the turn has gone on", async () => (await client.turn(waiting)).state === "done");
    expect(read()).toMatch(told);
    expect(read()).toContain("Nobody answered in time.");

    const alone = await client.ask("asks", { interactive: false });
    const kind = waiting.question.type;
    expect(statuses(alone)).toEqual([
      ...["route_decision", "tool_call", `${kind}_asked`, `${kind}_answered`, "tool_result", "token", "done"],
    ]);
    const answered = alone.events.map(({ data }) => data).find(({ status }) => status === `${kind}_answered`);
    expect(answered?.content).toMatchObject({ answer, by: "rule" });
    expect(read()).toMatch(told);
    expect(read()).toContain("Nobody can be asked.");
    expect(await client.open()).toEqual([]);
  });

  test("that requires an answer ends the turn when nobody answers or nobody can be asked", async () => {
    client.follow([clarify({ required: true })], "Done.");
    const waiting = await client.untilWaiting("asks");
    expect(waiting.question.required).toBe(true);
    await expireQuestions(database);
    await waitUntil("the turn has ended", async () => (await client.turn(waiting)).state === "failed");
    expect((await client.turn(waiting)).error).toMatchObject({ code: "question_unanswered" });
    expect(contentOf((await client.rest(waiting)).events, "error").code).toBe("question_unanswered");

    const alone = await client.ask("asks", { interactive: false });
    expect(statuses(alone).slice(1)).toEqual(["tool_call", "clarification_asked", "clarification_answered", "error"]);
    expect(contentOf(alone.events, "error")).toMatchObject({
      code: "question_unanswered",
      message: expect.stringContaining("nobody can be asked"),
    });
  });

  test("waits for the other calls beside it to run, and comes before the next question", async () => {
    client.follow([clarify(), callOf("order", { item: "cups" }, "a"), { ...decide(), id: "d" }], "Done.");
    const first = await client.untilWaiting("asks");
    expect([first.question.type, ordered]).toEqual(["clarification", ['{"item":"cups"}']]);
    await client.answer(first, { answer: "green" });
    const second = contentOf((await client.rest(first)).events, "waiting");
    expect(second.question.type).toBe("decision");
    await client.answer(second, { answer: "black" });
    expect(contentOf((await client.rest(second)).events, "done")).toMatchObject({ answer: "Done.", tool_calls: 3 });
    const results = opened.model.seen.at(-1)?.body.messages.slice(-3);
    expect(results?.map(({ content }) => String(content))).toEqual([
      ...[expect.stringContaining('"green"'), expect.stringContaining("ordered cups"), expect.stringContaining('"black"')],
    ]);
  });

  test("is not asked when its arguments are wrong, and the model reads what is wrong", async () => {
    client.follow([clarify({ options: [] }), callOf("ask_decision", "no JSON", "n")], "Sorry.");
    const answer = await client.ask("asks");
    expect(contentOf(answer.events, "done").answer).toBe("Sorry.");
    const outputs = answer.events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content] : []));
    expect(outputs.sort((one, other) => (one.call_id < other.call_id ? 1 : -1))).toMatchObject([
      { ok: false, output: expect.stringContaining("options: give at least two options") },
      { ok: false, output: expect.stringContaining("no JSON object") },
    ]);
  });

  test('is not asked when a rule denies it, and is asked once when a rule says "ask"', async () => {
    await client.makeAgent("mute", { permissions: [{ tool: "ask_*", action: "deny" }] });
    client.follow([clarify()], "Then I guess.");
    expect(contentOf((await client.ask("mute")).events, "tool_result")).toMatchObject({ ok: false });
    await client.makeAgent("careful", { permissions: [{ tool: "*", action: "ask" }] });
    expect((await client.untilWaiting("careful")).question.type).toBe("clarification");
  });
});
