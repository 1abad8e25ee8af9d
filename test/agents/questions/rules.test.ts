import { describe, expect, test } from "@jest/globals";
import { type CallFacts, corrected, fittingRule } from "../../../agents/questions/rules.ts";
import { AgentSpec } from "../../../turn/agent.ts";
import type { Rule } from "../../../turn/rule.ts";

const TEMPLATES = { today: "2026-11-29", user_id: "ada" };
const CALL: CallFacts = {
  tool: "mcp__desk__post",
  agent: "clerk",
  given: { text: "hello", to: { name: "ada", tags: ["a", "b"] }, count: 3, none: null },
  calls: 3,
  cost: 0.5,
  steps: 2,
};

const ruleWhen = (when: Rule["when"], rest: Partial<Rule> = {}): Rule => {
  return { name: "rule", when, priority: 10, action: "refuse", message: "No.", ...rest };
};

describe("a condition of a rule", () => {
  test.each<[when: Rule["when"], holds: boolean]>([
    [{ tool: "mcp__desk__post" }, true],
    [{ tool: "mcp__desk__*" }, true],
    [{ tool: "mcp__mail__*" }, false],
    [{ tool: "*" }, true],
    [{ agent: "clerk" }, true],
    [{ agent: "cl*" }, true],
    [{ agent: "buyer" }, false],
    [{ calls_over: 2 }, true],
    [{ calls_over: 3 }, false],
    [{ cost_over: 0.4 }, true],
    [{ cost_over: 0.5 }, false],
    [{ step_over: 1 }, true],
    [{ step_over: 2 }, false],
    [{ arguments: { text: "hello" } }, true],
    [{ arguments: { text: "Hello" } }, false],
    [{ arguments: { count: 3 } }, true],
    [{ arguments: { count: "3" } }, false],
    [{ arguments: { none: null } }, true],
    [{ arguments: { missing: null } }, false],
    [{ arguments: { "to.name": "ada" } }, true],
    [{ arguments: { "to.name": "{{user_id}}" } }, true],
    [{ arguments: { "to.tags.1": "b" } }, true],
    [{ arguments: { "to.tags.2": "b" } }, false],
    [{ arguments: { "text.length": 5 } }, false],
    [{ arguments: { "to.constructor": { pattern: "*" } } }, false],
    [{ arguments: { to: { tags: ["a", "b"], name: "ada" } } }, true],
    [{ arguments: { to: { tags: ["b", "a"], name: "ada" } } }, false],
    [{ arguments: { text: { pattern: "h*o" } } }, true],
    [{ arguments: { text: { pattern: "ell" } } }, false],
    [{ arguments: { text: { pattern: "*ell*" } } }, true],
    [{ arguments: { count: { pattern: "*" } } }, true],
    [{ arguments: { missing: { pattern: "*" } } }, false],
    [{ arguments: { "to.name": { pattern: "{{user_id}}*" } } }, true],
    [{ arguments: { text: { pattern: "(h+)+$" } } }, false],
    [{ tool: "mcp__desk__post", agent: "clerk", calls_over: 2, arguments: { text: "hello" } }, true],
    [{ tool: "mcp__desk__post", agent: "clerk", calls_over: 2, arguments: { text: "bye" } }, false],
  ])("%j holds: %s", (when, holds) => {
    expect(fittingRule([ruleWhen(when)], CALL, TEMPLATES) !== null).toBe(holds);
  });

  test("on the cost does not hold while a price is unknown", () => {
    expect(fittingRule([ruleWhen({ cost_over: 0 })], { ...CALL, cost: null }, TEMPLATES)).toBeNull();
  });

  test("takes a * in the id of the user for itself", () => {
    const rule = ruleWhen({ arguments: { text: { pattern: "of {{user_id}}" } } });
    const fits = (text: string) => fittingRule([rule], { ...CALL, given: { text } }, { ...TEMPLATES, user_id: "*" }) !== null;
    expect([fits("of bob"), fits("of *")]).toEqual([false, true]);
  });

  test("with a pattern of many stars takes no time", () => {
    const rule = ruleWhen({ arguments: { text: { pattern: `${"*a".repeat(1_000)}b` } } });
    const began = performance.now();
    expect(fittingRule([rule], { ...CALL, given: { text: "a".repeat(100_000) } }, TEMPLATES)).toBeNull();
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

test.each<[why: string, rules: [name: string, priority: number, tool: string][], decides: string | null]>([
  ["no rule that fits", [["other", 1, "calculate"]], null],
  ["the smallest priority, whatever its place,", [["late", 20, "*"], ["early", 1, "*"]], "early"], // prettier-ignore
  ["a negative priority", [["zero", 0, "*"], ["below", -5, "*"]], "below"], // prettier-ignore
  ["the first of equals", [["one", 10, "*"], ["two", 10, "*"]], "one"], // prettier-ignore
  ["the first that fits", [["other", 1, "calculate"], ["fits", 2, "*"]], "fits"], // prettier-ignore
])("%s decides", (_why, rules, decides) => {
  const given = rules.map(([name, priority, tool]) => ruleWhen({ tool }, { name, priority }));
  expect(fittingRule(given, CALL, TEMPLATES)?.name ?? null).toBe(decides);
});

test.each<[set: Record<string, unknown>, given: Record<string, unknown>, made: Record<string, unknown>]>([
  [{ text: "by {{user_id}} on {{today}}" }, { text: "x", to: "y" }, { text: "by ada on 2026-11-29", to: "y" }],
  [{ "a.b.c": 1 }, {}, { a: { b: { c: 1 } } }],
  [{ "a.b": null }, { a: { b: 1, c: 2 } }, { a: { b: null, c: 2 } }],
  [{ "a.b": 1 }, { a: "text" }, { a: { b: 1 } }],
  [{ "list.0": "z" }, { list: ["x", "y"] }, { list: ["z", "y"] }],
  [{ "list.1.name": "z" }, { list: [{}, { name: "y", more: 1 }] }, { list: [{}, { name: "z", more: 1 }] }],
  [{ to: { names: ["{{user_id}}"] } }, {}, { to: { names: ["ada"] } }],
  [{ text: "$& {{other}}" }, {}, { text: "$& {{other}}" }],
])("set %j makes of %j %j", (set, given, made) => {
  const before = structuredClone(given);
  expect(corrected(given, { set }, TEMPLATES)).toEqual(made);
  expect(given).toEqual(before);
});

test("a path with a name of the prototype changes no other object", () => {
  corrected({}, { set: JSON.parse('{"__proto__.polluted":1,"constructor.prototype.polluted":1}') as Record<string, unknown> }, TEMPLATES);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

const RULE = { name: "a", when: { tool: "x" }, action: "refuse", message: "m" };

test.each<[what: string, rule: unknown, problem: string]>([
  ["an unknown action", { ...RULE, action: "explode" }, "rules.0.action must be refuse, ask or correct"],
  ["no message", { ...RULE, message: undefined }, "rules.0.message is missing"],
  ["a long message", { ...RULE, message: "x".repeat(1_001) }, "rules.0.message has more than 1000 characters"],
  ["a blank name", { ...RULE, name: " " }, "rules.0.name is blank"],
  ["no condition", { ...RULE, when: {} }, "rules.0.when needs at least one condition"],
  ["no when", { ...RULE, when: undefined }, "rules.0.when must be an object of conditions"],
  ["no path", { ...RULE, when: { arguments: {} } }, "rules.0.when.arguments is empty"],
  ["an empty name in a path", { ...RULE, when: { arguments: { "a..b": 1 } } }, "rules.0.when.arguments.a..b must be names with dots"],
  ["a pattern that is no text", { ...RULE, when: { arguments: { a: { pattern: 5 } } } }, "rules.0.when.arguments.a must be a value, or"],
  ["a half surrogate", { ...RULE, when: { arguments: { a: "\ud83d" } } }, "rules.0.when.arguments.a holds a NUL character or half"],
  ["a negative count", { ...RULE, when: { calls_over: -1 } }, "rules.0.when.calls_over must be a whole number between"],
  ["a cost in words", { ...RULE, when: { cost_over: "1" } }, "rules.0.when.cost_over must be a number between"],
  ["a correction of nothing", { ...RULE, action: "correct" }, "rules.0.set is missing"],
  ["a refusal that corrects", { ...RULE, set: { a: 1 } }, "rules.0.set is of the action correct alone"],
  ["no object", 5, "rules.0 must be an object"],
  ["half a priority", { ...RULE, priority: 1.5 }, "rules.0.priority must be a whole number"],
])("a rule with %s is refused by its field", (_what, rule, problem) => {
  const { error } = AgentSpec.safeParse({ description: "x", rules: [rule] });
  expect(error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`)).toEqual([expect.stringContaining(problem)]);
});

test("an agent has at most fifty rules, and none by default", () => {
  const { error } = AgentSpec.safeParse({ description: "x", rules: Array.from({ length: 51 }, () => RULE) });
  expect(error?.issues).toMatchObject([{ path: ["rules"], message: "has more than 50 entries" }]);
  expect(AgentSpec.parse({ description: "x" }).rules).toEqual([]);
  expect(AgentSpec.parse({ description: "x", rules: [RULE] }).rules).toEqual([{ ...RULE, priority: 10 }]);
});
