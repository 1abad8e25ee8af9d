import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { toldAgain } from "../../../agents/loop/told-again.ts";
import type { Step } from "../../../stores/postgres/agents/step-store.ts";

const at = new Date("2026-11-28T10:00:00.000Z");
const ended = new Date("2026-11-28T10:00:02.000Z");
const id = uuidv7();
const asked = {
  ...{ question_id: id, question: "May it?", options: [{ label: "deny", description: "", is_recommended: false }] },
  ...{ allow_multiple: false, required: false, timeout_ms: 300_000, tool: { name: "order", arguments: { item: "tea" } } },
};

const step = (fields: Partial<Step>): Step => ({
  ...{ seq: 1, agent: "b", path: ["lead", "b"], task: 2, kind: "tool", name: "order", callId: "call", arguments: {}, output: "ordered" },
  ...{ echo: null, ok: true, tokens: 0, startedAt: at, endedAt: ended },
  ...fields,
});
const question = (output: string | null, ok: boolean | null, name = "permission"): Step =>
  step({ kind: "question", name, callId: null, arguments: asked, output, ok, endedAt: output === null ? null : ended });

const told = (one: Step) => toldAgain([one]).map(({ status }) => status);

test.each<[string, Step, string[]]>([
  ["a call that ended", step({}), ["tool_call", "tool_result"]],
  ["a call that runs", step({ endedAt: null, output: null, ok: null }), ["tool_call"]],
  ["a plan", step({ name: "todo_write", arguments: { items: [] }, task: 0 }), ["tool_call", "plan", "tool_result"]],
  ["a member's plan", step({ name: "todo_write", arguments: { items: [] } }), ["tool_call", "tool_result"]],
  ["a handoff", step({ name: "handoff_to", arguments: { agent: "c", reason: "knows" } }), ["tool_call", "tool_result", "handoff"]],
  ["a refused handoff", step({ name: "handoff_to", arguments: { agent: "c", reason: "knows" }, ok: false }), ["tool_call", "tool_result"]],
  ["an open question", question(null, null), ["permission_asked"]],
  ["an answered question", question('"deny"', true), ["permission_asked", "permission_replied"]],
  ["a decision", question('"deny"', true, "decision"), ["decision_asked", "decision_answered"]],
  ["a cancelled question", question("cancelled", false), ["permission_asked"]],
  ["calls that the caller runs", question("[]", true, "client_tool"), []],
  ["a question of an earlier version", step({ kind: "question", name: "permission", arguments: { question: "May it?" } }), []],
  ["an answer of the model", step({ kind: "model", callId: null }), []],
])("%s is told again as it was", (_, one, statuses) => {
  expect(told(one)).toEqual(statuses);
});

test("a question is told with the agent that asks, its path and its end, and who answered it", () => {
  const [first, second] = toldAgain([question('"deny"', false)]);
  expect(first?.content).toMatchObject({ id, type: "permission", agent: "b", path: ["lead", "b"], expires_at: "2026-11-28T10:05:00.000Z" });
  expect(second?.content).toEqual({ question_id: id, answer: "deny", by: "timeout" });
});
