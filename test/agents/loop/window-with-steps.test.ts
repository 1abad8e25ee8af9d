import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, test } from "@jest/globals";
import { groupByQuestion, withSteps } from "../../../agents/loop/window-with-steps.ts";
import type { StepOfMessage } from "../../../stores/postgres/agents/step-store.ts";

const at = new Date();
const step = (userMessageId: string, kind: "model" | "tool", seq: number, tokens = 0): StepOfMessage => ({
  ...{
    userMessageId,
    turnId: userMessageId,
    seq,
    kind,
    agent: "helper",
    path: ["helper"],
    task: 0,
    name: kind === "tool" ? "web_fetch" : "chat",
    arguments: {},
  },
  ...{
    callId: kind === "tool" ? `call ${userMessageId}` : null,
    output: "a long page",
    echo: null,
    ok: true,
    tokens,
    startedAt: at,
    endedAt: at,
  },
});
const called = (userMessageId: string, tokens: number): StepOfMessage[] => [
  step(userMessageId, "model", 1),
  step(userMessageId, "tool", 2, tokens),
];

function outputs(steps: readonly StepOfMessage[], userMessageIds: readonly string[]): string[] {
  const prompt = userMessageIds.map((id) => new HumanMessage({ id, content: id }));
  const currentMessageId = userMessageIds.at(-1) ?? "";
  const messages = withSteps(prompt, groupByQuestion(steps, userMessageIds), { currentMessageId, room: 1_000_000 });
  return messages.filter((message) => message instanceof ToolMessage).map(({ text }) => text);
}
const WHOLE = "<tool_output>\n> a long page\n</tool_output>";
const LEFT_OUT = "<tool_output>\n> [output of web_fetch left out, 70000 tokens]\n</tool_output>";

test("the two turns before this one keep their outputs, even when they called no tools", () => {
  expect(outputs(called("first", 70_000), ["first", "second", "now"])).toEqual([WHOLE]);
  expect(outputs(called("first", 70_000), ["first", "second", "third", "now"])).toEqual([LEFT_OUT]);
});

test("an answer that was stored with a thought is shown without it", () => {
  const [answer, ...others] = called("first", 1);
  const steps = answer ? [{ ...answer, output: "<think>Shall I look?</think>\n\nI look." }, ...others] : [];
  const prompt = [new HumanMessage({ id: "first", content: "first" }), new HumanMessage("now")];
  const shown = withSteps(prompt, groupByQuestion(steps, ["first", "now"]), { currentMessageId: "now", room: 1_000_000 });
  expect(shown.map(({ text }) => text)).toEqual(["first", "I look.", WHOLE, "now"]);
});

test("an earlier attempt at this message counts as one of the two", () => {
  const steps = [...called("first", 70_000), ...called("second", 1), ...called("now", 70_000)];
  expect(outputs(steps, ["first", "second", "now"])).toEqual([LEFT_OUT, WHOLE, WHOLE]);
});
