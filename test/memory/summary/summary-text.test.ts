import { describe, expect, test, beforeEach } from "@jest/globals";
import { summaryProblem } from "../../../memory/summary/summary-problem.ts";
import { tellsUnsaidNames } from "../../../memory/summary/unsaid-names.ts";
import { JUDGED_SUMMARIES } from "./judged-summaries.ts";
import { boundParts, makeDivideWithModel } from "../../../memory/summary/divide-summary.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { partLines, SummaryParts } from "../../../turn/summary-parts.ts";
import { PATIENT, useModelServer } from "../../support/services/use-model-server.ts";

type Judged = (typeof JUDGED_SUMMARIES)[number];
function problemOf(summary: string, { previous = null, said }: { previous?: string | null | undefined; said: Judged["said"] }) {
  const messages = said.map((content, place) => ({ role: place % 2 === 0 ? ("user" as const) : ("assistant" as const), content }));
  return summaryProblem(summary, { previous, messages });
}
describe.each(JUDGED_SUMMARIES)("a summary of $name", ({ good, bad, ...talk }) => {
  test.each(good)("is accepted: %s", (summary) => expect(problemOf(summary, talk)).toBeNull());
  test.each(bad)("is refused: %s", (summary) => expect(problemOf(summary, talk)).not.toBeNull());
});
const TOLD = ["My name is Ada and I live in Lisbon.", "Nice to meet you, Ada!", "I have a dog called Rex.", "What a good dog!"];
test.each<[string, string, readonly string[], string]>([
  ["repeats a sentence four times", "I am a helpful assistant. ".repeat(4), TOLD, "repeats_itself"],
  ["repeats four words in seventeen rows", "the user lives in ".repeat(5), TOLD, "repeats_itself"],
  ["has no word of the user", "I am a helpful assistant.", TOLD, "shares_nothing"],
  ["names a place that nobody said", "you live in Berlin", TOLD, "unsaid_names"],
  [
    "has what the assistant answers to everything",
    "You live in Berlin.",
    TOLD.flatMap((message) => [message, "You live in Berlin."]),
    "shares_nothing",
  ],
  [
    "tells a place that the assistant says again and again",
    "Ada lives in Berlin.",
    ["I am Ada, I live in Lisbon.", "You live in Berlin.", "No, in Lisbon!", "You live in Berlin."],
    "unsaid_names",
  ],
])("a summary is refused that %s", (_what, summary, said, problem) => expect(problemOf(summary, { said })).toBe(problem));
test("a summary in a code block is read, and one in the assistant's language is judged by what the assistant said", () => {
  const said = [
    "Меня зовут Ада, я живу в Лиссабоне.",
    "Hello Ada! Lisbon is lovely. How can I help?",
    "Моя собака Рекс.",
    "Rex is a nice name for a dog.",
  ];
  expect(problemOf("```\nAda lives in Lisbon and has a dog, Rex.\n```", { said })).toBeNull();
  expect(problemOf("```\nI am a helpful assistant.\n```", { said: TOLD })).toBe("shares_nothing");
});
test("a place that the assistant said once is one that was said", () => {
  const said = ["I am Ada, I live in Lisbon. Where shall I travel with my dog?", "Try Porto, the train takes three hours."];
  expect(problemOf("Ada lives in Lisbon. She wants to travel with her dog; the assistant suggested Porto.", { said })).toBeNull();
});
test.each([
  [
    "a month and a language",
    "The user wants answers in Spanish from May on.",
    "answer in another language from 1/5, please, as I said to you",
  ],
  ["a longer form of a name", "It is a gift for Melanie, who lives in New York City.", "it is for my friend mel, she lives in nyc"],
  ["a heading", "**Open Questions:** which train to take", "which train shall I take to the sea, and when does it go?"],
  ["a translated name", "Wang Wei lives in Beijing and works at Google.", "我叫王伟，住在北京，在 Google 工作"],
  ["German nouns", "Er wohnt in einer Wohnung und sucht nach Arbeit in der Nähe.", "ich wohne mit meinem bruder, suche einen job hier"],
  ["a Chinese home without a name", "用户住在父母家，养了猫。", "我和爸妈一起住，我有一只猫"],
])("%s is no name that nobody said", (_what, text, source) => expect(tellsUnsaidNames(text, source)).toBe(false));

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
