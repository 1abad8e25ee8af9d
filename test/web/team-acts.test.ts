import { expect, test } from "@jest/globals";
import { type Act, beginAct, endAct, toActs } from "../../web/state/turns/acts.ts";
import { activeAfter, handoffsIn, taskOf, type TeamAct, withTeams } from "../../web/state/turns/team.ts";
import { agentDraft, toAgent } from "../../web/views/agents/agent-draft.ts";
import { toClosedQuestions } from "../../web/state/turns/asked.ts";
import type { TurnStep } from "../../web/api/types.ts";

/** `of`: the path, with spaces. The id of a call is its place in the turn unless it is given. */
const called = (of: string, name: string, given: unknown = {}, id = `${of} ${name}`) => {
  const path = of.split(" ");
  return { call_id: id, agent: path.at(-1) ?? "", path, name, arguments: given };
};
const ended = (of: string, name: string, ok = true, id = `${of} ${name}`) => {
  const { call_id, agent, path } = called(of, name, {}, id);
  return { ...{ call_id, agent, path, name }, ok, output: "out", cut: false, ms: 1 };
};
const begun = (...calls: ReturnType<typeof called>[]): Act[] => calls.reduce<Act[]>(beginAct, []);
const ask = (of: string, agent: string, id = `${of} asks ${agent}`) => called(of, "ask_agent", { agent, task: `for ${agent}` }, id);

/** Each call as its name, or as the member that is asked with its own calls. */
const drawn = (acts: readonly TeamAct[]): unknown[] =>
  acts.map(({ act, below }) => (taskOf(act) ? { [taskOf(act)?.member ?? ""]: drawn(below) } : act.name));

test("calls of members side by side stand below the task of each, however their events are mixed", () => {
  const acts = begun(
    ask("lead", "b"),
    ask("lead", "c"),
    called("lead c", "look"),
    called("lead b", "count"),
    called("lead c", "look", {}, "2"),
  );
  expect(drawn(withTeams(acts))).toEqual([{ b: ["count"] }, { c: ["look", "look"] }]);
});

test("a member's member stands below it, and a second task of a member has the calls behind it", () => {
  const acts = begun(
    ...[ask("lead", "b", "1"), ask("lead b", "c"), called("lead b c", "look"), called("lead", "count")],
    ...[ask("lead", "b", "2"), called("lead b", "write")],
  );
  expect(drawn(withTeams(acts))).toEqual([{ b: [{ c: ["look"] }] }, "count", { b: ["write"] }]);
});

test("calls of a member whose task is not known stand on top, and so does what is no task", () => {
  const acts = begun(called("lead b", "count"), called("lead", "ask_agent", "no JSON"), called("lead", "ask_agent", null, "2"));
  expect(drawn(withTeams(acts))).toEqual(["count", "ask_agent", "ask_agent"]);
});

test("two members may use one id for a call, and each result goes to its own", () => {
  const both = begun(called("lead b", "count", {}, "call_1"), called("lead c", "count", {}, "call_1"));
  const acts = endAct(both, ended("lead c", "count", false, "call_1"));
  expect(acts.map(({ agent, ok }) => [agent, ok])).toEqual([
    ["b", null],
    ["c", false],
  ]);
  expect(endAct([], ended("lead b", "count"))).toMatchObject([{ agent: "b", path: ["lead", "b"], arguments: null, ok: true }]);
});

test("an agent hands over once: its first handoff that succeeded counts", () => {
  const to = (of: string, agent: string, id: string) => called(of, "handoff_to", { agent, reason: "money" }, id);
  let acts = begun(to("lead", "b", "1"), to("lead", "c", "2"), to("lead", "d", "3"), to("c", "d", "4"));
  expect(activeAfter("x", undefined, acts)).toBe("x");
  acts = [ended("lead", "handoff_to", false, "1"), ended("lead", "handoff_to", true, "2"), ended("lead", "handoff_to", true, "3")].reduce(
    endAct,
    acts,
  );
  expect([...handoffsIn(acts)].map(([{ agent }, handoff]) => [agent, handoff])).toEqual([["lead", { to: "c", reason: "money" }]]);
  expect(activeAfter(null, "lead", acts)).toBe("c");
  expect(activeAfter("x", undefined, endAct(acts, ended("c", "handoff_to", true, "4")))).toBe("d");
});

test("a turn that names an agent ends a handoff, and another turn does not", () => {
  expect([activeAfter("c", "assistant", []), activeAfter("c", undefined, []), activeAfter("c", null, [])]).toEqual([null, "c", "c"]);
});

test("stored steps and closed questions keep the path of their agent", () => {
  const step = {
    seq: 1,
    agent: "b",
    path: ["lead", "b"],
    kind: "tool",
    name: "count",
    call_id: null,
    arguments: {},
    output: "2",
    ok: true,
  };
  const question = { ...step, kind: "question", name: "clarification", arguments: { question_id: "q", question: "Which?" }, output: '"A"' };
  const steps = [step, question] as unknown as TurnStep[];
  expect(toActs(steps)).toMatchObject([{ callId: "1", path: ["lead", "b"] }]);
  expect(toClosedQuestions(steps)).toMatchObject([{ question: { id: "q", agent: "b", path: ["lead", "b"] }, answer: "A" }]);
});

test("the form of an agent gives back the rules, which it does not show", () => {
  const set = { "to.name": "{{user_id}}" };
  const rules = [{ name: "a", when: { arguments: { to: { pattern: "x*" } } }, priority: 3, action: "correct" as const, message: "m", set }];
  expect(toAgent(agentDraft({ description: "Ruled", rules })).rules).toEqual(rules);
  expect(toAgent({}).rules).toEqual([]);
});

test("the form of an agent gives back its team as it was", () => {
  const team = { strategy: "sequential", share: "summary" } as const;
  const spec = { description: "Leads", subagents: ["b", "c"], handoffs: ["d"], team, limits: { max_depth: 2 } };
  expect(toAgent(agentDraft(spec))).toMatchObject(spec);
  expect(toAgent(agentDraft({ description: "Alone" }))).toMatchObject({ team: { strategy: "hierarchical", share: "none" }, handoffs: [] });
});
