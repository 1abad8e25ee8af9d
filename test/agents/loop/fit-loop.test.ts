import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { picturedMessage } from "../../../models/wire/pictured-message.ts";
import { samplePicture } from "../../support/samples/sample-pictures.ts";
import { fitLoop, leaveOutOldOutputs, tokensOfMessages } from "../../../agents/loop/fit-loop.ts";

const call = (id: string, name: string) =>
  new AIMessage({ content: "", tool_calls: [{ id, name, args: { query: "tea" }, type: "tool_call" }] });
const output = (id: string, name: string | undefined, content: string) =>
  new ToolMessage({ tool_call_id: id, content, ...(name === undefined ? {} : { name }) });
const LONG = "The tea of the mountains is picked in April. ".repeat(60);
const skill = output("s", "load_skill", LONG);
const rounds = [
  new HumanMessage("Find tea."),
  call("s", "load_skill"),
  skill,
  call("a", "find"),
  output("a", "find", LONG),
  call("b", "find"),
  output("b", undefined, LONG),
  call("c", "find"),
  output("c", "find", "short"),
];
const all = tokensOfMessages(rounds);
const textsAt = (budget: number): string[] =>
  leaveOutOldOutputs(rounds, budget).messages.flatMap((message) => (message instanceof ToolMessage ? [message.text.slice(0, 20)] : []));
const whole = LONG.slice(0, 20);

describe("outputs of tools that do not fit", () => {
  test("stay while there is room", () => expect(leaveOutOldOutputs(rounds, all)).toEqual({ messages: rounds, tokens: all }));

  test("are left out oldest first, with tool and size named, except what skills say", () => {
    expect(textsAt(all - 10)).toEqual([whole, "[output of find left", whole, "short"]);
    expect(textsAt(0)).toEqual([whole, "[output of find left", "[output of a tool le", "short"]);
  });

  test("take pictures of the loop with them, never those of the message", () => {
    const shown = picturedMessage("[A picture]", [samplePicture()], { tokens: 500 });
    const { messages, tokens } = leaveOutOldOutputs([shown, ...rounds, shown], 0, 1);
    expect(messages[0]).toBe(shown);
    expect(messages.at(-1)?.content).toBe("[A picture]");
    expect(tokens).toBe(tokensOfMessages(messages));
  });

  test("leave a placeholder whose tokens are counted", () => {
    const { messages, tokens } = leaveOutOldOutputs(rounds, 0);
    expect(tokens).toBe(tokensOfMessages(messages));
    expect(tokens).toBeLessThan(all);
  });
});

describe("a loop", () => {
  const [start, behind] = [rounds.slice(0, 1), rounds.slice(1)];
  const loop = { start, behind, again: async (budget: number) => [new HumanMessage(`made for ${budget}`)] };

  test("keeps what stood before it when leaving out outputs is enough", async () => {
    const budget = all + 100 - 10;
    const { messages, tokens } = await fitLoop(loop, budget, 100);
    expect(messages[0]).toBe(start[0]);
    expect(tokens).toBeLessThanOrEqual(budget);
  });

  test("gets a shorter beginning when leaving out outputs is not enough", async () => {
    const { messages, tokens } = await fitLoop(loop, 300, 100);
    const left = Math.max(0, 300 - tokensOfMessages(messages.slice(1)));
    expect(messages[0]?.text).toBe(`made for ${left}`);
    expect(tokens).toBe(tokensOfMessages(messages) + 100);
  });
});
