import { describe, expect, test } from "@jest/globals";
import { callApi, putJson } from "../../../support/clients/api-client.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
import { ordered } from "../../../support/services/asking-agent.ts";
import { allOf, give, teamClient } from "../../../support/services/asking-team.ts";
import { KEYS, order, rejections, rule, useRuledService } from "../../../support/services/ruled-service.ts";

const service = useRuledService();
const { opened, ask, putRules, getRules } = service;

describe("the rules of a tenant", () => {
  test("are replaced as a whole, belong to one tenant, and are not shown as those of agents", async () => {
    const rules = [rule("one", {}, "refuse"), rule("two", { calls_over: 1 }, "ask", { priority: 3 })];
    const put = await putRules(rules);
    expect([put.status, put.json.rules.map(({ name }) => name)]).toEqual([200, ["one", "two"]]);
    await ask([rule("own", { tool: "other" }, "refuse")], ["tea"]);
    const { json } = await callApi<{ rules: { name: string }[] }>(`${opened.url}/api/v1/agents/clerk`, { headers: KEYS.default });
    expect(json.rules.map(({ name }) => name)).toEqual(["own"]);
    expect([await getRules(KEYS.default), await getRules(KEYS.acme)]).toEqual([["one", "two"], []]);
    await putRules([rule("three", {}, "refuse")]);
    expect(await getRules(KEYS.default)).toEqual(["three"]);
  });

  test("hold for every agent of the tenant, for none of another", async () => {
    await putRules([rule("no-tea", { arguments: { item: "tea" } }, "refuse")]);
    expect(rejections(await ask([], ["tea"]))).toEqual(["no-tea: refuse"]);
    const other = teamClient(opened, KEYS.acme);
    await other.makeTeam({ clerk: { tools: ["order"], permissions: [{ tool: "order", action: "allow" }] } });
    expect(rejections(await other.ask("clerk"))).toEqual([]);
    expect(ordered).toHaveLength(1);
  });

  test("hold for the agents of the system, beside the rules of their files", async () => {
    await putRules([rule("no-tea", { arguments: { item: "tea" } }, "refuse")]);
    const { client } = service;
    client.play({ keeper: [[order("tea", "a"), order("rum", "b"), order("milk", "c")], "Done."] });
    expect(rejections(await client.ask("keeper"))).toEqual(["no-tea: refuse", "own: refuse"]);
    expect(ordered).toHaveLength(1);
  });

  test("come behind an agent's own of the same priority, and before those with a larger one", async () => {
    await putRules([rule("ten", {}, "refuse"), rule("nine", { arguments: { item: "milk" } }, "refuse", { priority: 9 })]);
    expect(rejections(await ask([rule("own", {}, "refuse")], ["tea", "milk"]))).toEqual(["own: refuse", "nine: refuse"]);
  });

  test("reach members, whose calls count for the turn, and refuse tasks by the name of the member", async () => {
    await putRules([rule("often", { calls_over: 1 }, "refuse"), { ...rule("not-guest", {}, "refuse"), when: { agent: "guest" } }]);
    const orders = { tools: ["order"], permissions: [{ tool: "order", action: "allow" }] };
    const { client } = service;
    await client.makeTeam({ buyer: orders, guest: orders, boss: { ...orders, subagents: ["buyer", "guest"] } });
    const boss = [[order("tea")], [give("buyer", "buy")], [give("guest", "buy")], "Boss."];
    client.play({ boss, buyer: [[order("milk")], "Bought."], guest: ["Guest."] });
    const turn = await client.ask("boss");
    expect(allOf(turn, "decision_rejected")).toMatchObject([
      { rule: "often", agent: "buyer", path: ["boss", "buyer"], name: "order" },
      { rule: "not-guest", agent: "boss", path: ["boss"], name: "ask_agent", arguments: { agent: "guest", task: "buy" } },
    ]);
    expect([ordered.length, client.prompts("guest").length, contentOf(turn.events, "done").answer]).toEqual([1, 0, "Boss."]);
  });

  test("are refused by field, and changed by keys of the whole tenant alone", async () => {
    const wrong = await putRules([rule("one", {}, "refuse"), { ...rule("two", {}, "explode"), extra: 1 }]);
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining("rules.1.action")]);
    expect(wrong.text).toContain("rules.1.extra");
    expect((await putJson(`${opened.url}/api/v1/rules`, {}, KEYS.default)).status).toBe(400);
    const own = await putJson(`${opened.url}/api/v1/agents/wrong`, { description: "x", rules: [{ name: "x" }] }, KEYS.default);
    expect([own.status, own.text]).toEqual([400, expect.stringContaining("rules.0.when")]);
    expect(await getRules(KEYS.default)).toEqual([]);
  });
});
