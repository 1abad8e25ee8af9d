import { beforeEach, describe, expect, test } from "@jest/globals";
import { boundParts, makeDivideWithModel } from "../../../memory/summary/divide-summary.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { partLines, SummaryParts } from "../../../turn/summary-parts.ts";
import { PATIENT, useModelServer } from "../../support/services/use-model-server.ts";

const EMPTY = SummaryParts.parse({});
const INPUT = {
  previous: null,
  parts: null,
  messages: [
    { role: "user" as const, content: "I want to go to Lisbon. We decided on the night train." },
    { role: "assistant" as const, content: "好的，我记下了夜车。" },
  ],
};

describe("the parts of a summary", () => {
  const server = useModelServer();
  let answers: string[] = [];
  beforeEach(() => {
    server.answer(() => ({ tokens: [answers.shift() ?? ""] }));
  });
  const divide = (given: string[], input: Parameters<ReturnType<typeof makeDivideWithModel>>[0] = INPUT) => {
    answers = given;
    const model = createOpenAIChatModel({ model: "summary", baseUrl: server.url });
    return makeDivideWithModel({ model, timeouts: PATIENT, stepTokens: 1_000 })(input, new AbortController().signal);
  };

  test("are the model's, however it writes its JSON", async () => {
    const parts = await divide([
      'Here:\n```json\n{"core_goal": "Go to Lisbon", "key_decisions": "the night train", "next_steps": null}\n```',
    ]);
    expect(parts).toEqual({ ...EMPTY, core_goal: "Go to Lisbon", key_decisions: ["the night train"] });
    expect(server.seen).toHaveLength(1);
    const [system, asked] = server.seen[0]?.body.messages ?? [];
    expect(system?.content).toContain('"unresolved_issues"');
    expect(asked?.content).toContain("<user_message>\n> I want to go to Lisbon.");
  });

  test.each([
    ["no JSON", "They spoke about Lisbon."],
    ["a field of another type", '{"core_goal": {"city": "Lisbon"}}'],
    ["none of the fields", '{"summary": "Lisbon"}'],
  ])("are asked for once more when the answer has %s", async (_what, wrong) => {
    expect(await divide([wrong, '{"core_goal": "Lisbon"}'])).toMatchObject({ core_goal: "Lisbon" });
    expect(server.seen[1]?.body.messages.slice(-2)).toMatchObject([{ role: "assistant", content: wrong }, { role: "user" }]);
    expect(server.seen[1]?.body.messages.at(-1)?.content).toMatch(/^Your answer .*JSON object alone\.$/s);
  });

  test("stay as they were when the second answer is wrong, too", async () => {
    const parts = { ...EMPTY, core_goal: "Lisbon" };
    expect(await divide(["no", "no"], { ...INPUT, parts })).toEqual(parts);
    expect(await divide(["no", "no"])).toBeNull();
    expect(server.seen).toHaveLength(4);
  });

  test("are given to the model to be carried on", async () => {
    await divide(['{"core_goal": "Lisbon"}'], { ...INPUT, parts: { ...EMPTY, pending_tasks: ["renew the passport"] } });
    expect(server.seen[0]?.body.messages[1]?.content).toMatch(/<earlier_notes>\n> .*renew the passport/);
  });

  test("have nothing that was not said, and are never long", () => {
    const source = "Ada lives in Lisbon and likes green tea.";
    const made = {
      ...EMPTY,
      core_goal: "Buy bitcoin",
      important_facts: ["Ada lives in Lisbon", "Zebras graze", "Ada lives in Berlin with Peter"],
    };
    expect(boundParts(made, source)).toEqual({ ...EMPTY, important_facts: ["Ada lives in Lisbon"] });
    const long = `Ada ${"likes tea ".repeat(100)}`;
    const many = { ...EMPTY, core_goal: long, key_decisions: Array<string>(20).fill(long), next_steps: Array<string>(20).fill(long) };
    const bounded = boundParts(many, source);
    expect(estimateTokens(partLines(bounded))).toBeLessThanOrEqual(500);
    expect(bounded.core_goal).not.toBe("");
  });
});
