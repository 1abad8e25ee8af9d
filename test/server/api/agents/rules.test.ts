import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
import { readMetrics } from "../../../support/clients/read-metrics.ts";
import { callOf, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { allOf } from "../../../support/services/asking-team.ts";
import { KEYS, order, rejections, rule, useRuledService } from "../../../support/services/ruled-service.ts";

const service = useRuledService();
const { database, opened, ask, decisions } = service;
let client: typeof service.client;
beforeEach(() => {
  client = service.client;
});

describe("a rule that refuses", () => {
  test("lets no call run; the model reads its message, and the events and the decisions tell it", async () => {
    const turn = await ask([rule("no-tea", { arguments: { item: "tea" } }, "refuse")], ["tea"]);
    expect(ordered).toEqual([]);
    const event = { rule: "no-tea", action: "refuse", agent: "clerk", path: ["clerk"], name: "order", arguments: { item: "tea" } };
    expect(allOf(turn, "decision_rejected")).toEqual([{ ...event, message: "because of no-tea" }]);
    expect(statuses(turn).slice(-5)).toEqual(["tool_call", "decision_rejected", "tool_result", "token", "done"]);
    const [result] = allOf(turn, "tool_result");
    expect(result).toMatchObject({ ok: false, output: expect.stringContaining("refused_by_rule") });
    expect(JSON.stringify(client.prompts("clerk").at(-1)?.messages)).toContain("because of no-tea");
    const tool = { name: "order", arguments: { item: "tea" } };
    expect(await decisions()).toMatchObject([{ type: "permission", answer: "refuse", by: "rule", rule: "no-tea", question: null, tool }]);
  });

  test("leaves other calls of the answer alone", async () => {
    const turn = await ask([rule("no-tea", { arguments: { item: { pattern: "te*" } } }, "refuse")], ["milk", "tea", "bread"]);
    expect(allOf(turn, "tool_result").map(({ ok }) => ok)).toEqual(expect.arrayContaining([true, true, false]));
    expect(ordered.map((one) => JSON.parse(one) as object)).toEqual([{ item: "milk" }, { item: "bread" }]);
  });

  test("counts calls of a tool in a turn, of one answer and of several", async () => {
    const often = rule("often", { calls_over: 2 }, "refuse");
    const turn = await ask([often], ["a", "b", "c"]);
    expect([ordered.length, rejections(turn), allOf(turn, "decision_rejected")[0]?.arguments]).toEqual([
      2,
      ["often: refuse"],
      { item: "c" },
    ]);
    ordered.length = 0;
    client.play({ clerk: [[order("a")], [order("b")], [order("c")], "Done."] });
    expect([rejections(await client.ask("clerk")), ordered.length]).toEqual([["often: refuse"], 2]);
  });

  test("counts the answers of the model", async () => {
    await client.makeTeam({ clerk: { tools: ["look_up"], rules: [rule("late", { tool: "*", step_over: 1 }, "refuse")] } });
    client.play({ clerk: [[callOf("look_up", { n: 1 })], [callOf("look_up", { n: 2 })], "Done."] });
    const turn = await client.ask("clerk");
    expect(allOf(turn, "tool_result").map(({ ok }) => ok)).toEqual([true, false]);
  });
});

describe("a rule that asks", () => {
  const rules = [rule("ask-boss", { arguments: { item: "tea" } }, "ask")];

  test("asks for a permission with its message, and an answer runs the call once, without another question", async () => {
    const asked = await ask(rules, ["tea"], { permissions: [] });
    expect(statuses(asked).slice(-4)).toEqual(["tool_call", "decision_rejected", "permission_asked", "waiting"]);
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({ type: "permission", question: expect.stringContaining("because of ask-boss") });
    expect(ordered).toEqual([]);
    await client.answer(waiting, { answer: "allow_once" });
    const rest = await client.rest(waiting);
    expect(contentOf(rest.events, "done").answer).toBe("Done.");
    expect([ordered.length, rejections(rest)]).toEqual([1, []]);
  });

  test("refuses the call when the person does, and where nobody can be asked", async () => {
    const waiting = contentOf((await ask(rules, ["tea"])).events, "waiting");
    await client.answer(waiting, { answer: "deny" });
    expect(allOf(await client.rest(waiting), "tool_result")).toMatchObject([{ ok: false }]);
    const silent = await ask(rules, ["tea"], {}, { interactive: false });
    expect(allOf(silent, "tool_result")).toMatchObject([{ ok: false, output: expect.stringContaining("permission_denied") }]);
    expect([ordered.length, rejections(silent)]).toEqual([0, ["ask-boss: ask"]]);
    expect((await decisions())[0]).toMatchObject({ answer: "deny", by: "rule", rule: "ask-boss" });
  });

  test("is not silenced by allow_always, nor by an agent that allows the tool", async () => {
    const first = contentOf((await ask(rules, ["tea"], { permissions: [] })).events, "waiting");
    await client.answer(first, { answer: "allow_always" });
    await client.rest(first);
    expect(await client.permissions()).toMatchObject([{ agent: "clerk", tool: "order" }]);
    expect(statuses(await client.ask("clerk")).at(-1)).toBe("waiting");
    client.play({ clerk: [[order("milk")], "Done."] });
    expect(statuses(await client.ask("clerk")).at(-1)).toBe("done");
    expect(statuses(await ask(rules, ["tea"])).at(-1)).toBe("waiting");
  });

  test("is told once for each of two calls, which are asked about one after the other", async () => {
    const two = [rule("ask-boss", {}, "ask")];
    const first = await ask(two, ["tea", "milk"]);
    const one = contentOf(first.events, "waiting");
    await client.answer(one, { answer: "allow_once" });
    const second = await client.rest(one);
    const other = contentOf(second.events, "waiting");
    await client.answer(other, { answer: "allow_once" });
    const third = await client.rest(other);
    expect([first, second, third].map(rejections)).toEqual([["ask-boss: ask"], ["ask-boss: ask"], []]);
    expect(ordered).toHaveLength(2);
  });

  test("gives a call of the caller's to its caller once somebody has allowed it", async () => {
    await client.makeTeam({ clerk: { tools: ["at_caller"], rules: [rule("ask-boss", { tool: "at_caller" }, "ask")] } });
    client.play({ clerk: [[callOf("at_caller", { item: "tea" }, "call_1")], "Done."] });
    const waiting = contentOf((await client.ask("clerk")).events, "waiting");
    await client.answer(waiting, { answer: "allow_once" });
    const second = contentOf((await client.rest(waiting)).events, "waiting");
    expect(second.question).toMatchObject({ type: "client_tool", calls: [{ call_id: "call_1", name: "at_caller" }] });
    await client.answer(second, { results: [{ call_id: "call_1", output: "a cup" }] });
    expect(contentOf((await client.rest(second)).events, "done").answer).toBe("Done.");
  });
});

describe("a rule that corrects", () => {
  const sign = rule("sign-it", { arguments: { item: "tea" } }, "correct", { set: { item: "tea for {{user_id}}", "note.on": "{{today}}" } });
  const today = new Date().toISOString().slice(0, 10);
  const made = { item: "tea for ada", note: { on: today } };

  test("runs the corrected call, which events, steps, decisions and the model's next prompt show", async () => {
    const turn = await ask([sign], ["tea"]);
    expect(ordered).toEqual([JSON.stringify(made)]);
    expect(allOf(turn, "tool_call")).toMatchObject([{ arguments: made }]);
    expect(allOf(turn, "decision_rejected")).toMatchObject([{ rule: "sign-it", action: "correct", arguments: { item: "tea" } }]);
    expect((await client.steps(turn)).filter(({ kind }) => kind === "tool")).toMatchObject([{ arguments: made, ok: true }]);
    expect(await decisions()).toMatchObject([{ answer: "correct", by: "rule", rule: "sign-it", tool: { arguments: made } }]);
    const called = client
      .prompts("clerk")
      .at(-1)
      ?.messages.flatMap(({ tool_calls }) => (tool_calls as { function: { arguments: string } }[] | undefined) ?? []);
    expect(called?.map((one) => JSON.parse(one.function.arguments) as object)).toEqual([made]);
  });

  test("asks for a permission about the corrected call, and tells the correction once", async () => {
    const asked = await ask([sign], ["tea", "tea"], { permissions: [] });
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question.tool).toEqual({ name: "order", arguments: made });
    await client.answer(waiting, { answer: "allow_once" });
    const second = await client.rest(waiting);
    expect([rejections(asked), rejections(second)]).toEqual([["sign-it: correct", "sign-it: correct"], []]);
    const other = contentOf(second.events, "waiting");
    await client.answer(other, { answer: "allow_once" });
    await client.rest(other);
    expect(ordered).toEqual([JSON.stringify(made), JSON.stringify(made)]);
    expect((await decisions()).filter(({ by }) => by === "rule")).toMatchObject([{ rule: "sign-it" }, { rule: "sign-it" }]);
  });

  test("that makes arguments which the tool does not take lets the call fail", async () => {
    const turn = await ask([rule("breaks-it", {}, "correct", { set: { item: 5 } })], ["tea"]);
    expect(allOf(turn, "tool_result")).toMatchObject([{ ok: false, output: expect.stringContaining("invalid_arguments") }]);
    expect(ordered).toEqual([]);
  });

  test("says nothing of a call that is as it should be", async () => {
    const turn = await ask([rule("for-ada", {}, "correct", { set: { item: "tea" } })], ["tea"]);
    expect([rejections(turn), ordered.length, (await decisions()).map(({ rule: name }) => name)]).toEqual([[], 1, [null]]);
  });
});

test.each(["refuse", "ask", "correct"])("a permission that denies wins over a rule with the action %s", async (action) => {
  const set = action === "correct" ? { set: { item: "milk" } } : {};
  const turn = await ask([rule("one", {}, action, set)], ["tea"], { permissions: [{ tool: "order", action: "deny" }] });
  expect(allOf(turn, "tool_result")).toMatchObject([{ ok: false, output: expect.stringContaining("permission_denied") }]);
  expect([rejections(turn), ordered.length]).toEqual([[], 0]);
});

test("an erase takes the rule's decisions along", async () => {
  await ask([rule("no-tea", {}, "refuse")], ["tea"]);
  expect(await decisions()).toHaveLength(1);
  expect((await callApi(`${opened.url}/api/v1/users/ada`, { method: "DELETE", headers: KEYS.default })).status).toBe(200);
  expect(await database.query({ text: "select 1 from decisions" })).toEqual([]);
});

test("the metrics have the share of calls that rules reject", async () => {
  await ask([rule("no-tea", { arguments: { item: "tea" } }, "refuse")], ["tea", "milk"]);
  const share = (await readMetrics(opened.url, KEYS.default)).samples.get("conversation_graph_agent_decisions_rejected_ratio");
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(1);
});
