import { expect, test } from "@jest/globals";
import { ToolError } from "../../../agents/run-tool-call.ts";
import { askingTools } from "../../../agents/tools/ask-person.ts";

const [tea, milk, water] = ["tea", "milk", "water"].map((label) => ({ label, description: `Drink ${label}.` }));
const recommended = { ...milk, is_recommended: true };
const clarification = { question_type: "approach", question: "Which one?", options: [tea, recommended] };
const decision = { decision_type: "method", context: "How?", options: [tea, recommended] };

function questionOf(name: string, given: object) {
  return askingTools.find((tool) => tool.name === name)?.asks?.({ ...given });
}

const yesOrNo = [{ label: "Yes", is_recommended: true }, { label: "No" }];
const 是否 = [{ label: "是", is_recommended: true }, { label: "否" }];

test.each<[what: string, name: string, given: object, becomes: object]>([
  ["has a minute", "ask_clarification", clarification, { type: "clarification", timeoutMs: 60_000, required: false }],
  ["takes the recommended option without an answer", "ask_clarification", clarification, { ifUnanswered: "milk" }],
  ["that is required takes none", "ask_clarification", { ...clarification, required: true }, { ifUnanswered: null, required: true }],
  ["that recommends nothing takes none", "ask_clarification", { ...clarification, options: [tea, milk] }, { ifUnanswered: null }],
  ["has the time that it names", "ask_clarification", { ...clarification, timeout_seconds: 3_600 }, { timeoutMs: 3_600_000 }],
  ["has five minutes", "ask_decision", decision, { type: "decision", timeoutMs: 300_000, question: "How?", allow_multiple: false }],
  ["takes the recommended option without an answer", "ask_decision", decision, { ifUnanswered: "milk" }],
  [
    "takes several recommended options without an answer, where it allows several",
    "ask_decision",
    { ...decision, allow_multiple: true, options: [{ ...tea, is_recommended: true }, recommended, water] },
    { ifUnanswered: ["tea", "milk"], allow_multiple: true },
  ],
  ["about a risk is no without an answer", "ask_decision", { ...decision, decision_type: "risk" }, { ifUnanswered: "no" }],
  [
    "that confirms is no without an answer, in the words of its options",
    "ask_decision",
    { ...decision, decision_type: "confirmation", options: yesOrNo },
    { ifUnanswered: "No" },
  ],
  [
    "that confirms in Chinese is no, too",
    "ask_decision",
    { ...decision, decision_type: "confirmation", options: 是否 },
    { ifUnanswered: "否" },
  ],
  [
    "keeps no NUL and no blanks around its labels",
    "ask_clarification",
    { ...clarification, options: [{ label: " te\0a " }, milk] },
    { options: [{ label: "tea", description: "", is_recommended: false }, expect.anything()] },
  ],
])("a question that %s (%s)", (_what, name, given, becomes) => {
  expect(questionOf(name, given)).toMatchObject(becomes);
});

const CLARIFY = "ask_clarification";
test.each<[what: string, name: string, given: object, says: RegExp]>([
  ["nothing", CLARIFY, {}, /question_type: .*question: .*options: /],
  ["no options", CLARIFY, { ...clarification, options: [] }, /options: give at least two options/],
  ["one option", CLARIFY, { ...clarification, options: [tea] }, /options: give at least two options/],
  ["the same label twice", CLARIFY, { ...clarification, options: [tea, { label: " TEA " }] }, /options: two options are labelled "TEA"/],
  ["a blank label", CLARIFY, { ...clarification, options: [tea, { label: "  " }] }, /options\.1\.label: /],
  ["labels without options", CLARIFY, { ...clarification, options: ["tea", "milk"] }, /options\.0: .*expected object/],
  [
    "two recommended options",
    CLARIFY,
    { ...clarification, options: [{ ...tea, is_recommended: true }, recommended] },
    /options: more than one/,
  ],
  ["another type", CLARIFY, { ...clarification, question_type: "taste" }, /question_type: .*"scope"/],
  ["no question", CLARIFY, { ...clarification, question: " " }, /question: /],
  ["an unknown field", CLARIFY, { ...clarification, deadline: 5 }, /deadline/],
  ["hardly any time", CLARIFY, { ...clarification, timeout_seconds: 1 }, /timeout_seconds: .*10/],
  ["more than a day", CLARIFY, { ...clarification, timeout_seconds: 90_000 }, /timeout_seconds: .*86400/],
  ["another type", "ask_decision", { ...decision, decision_type: "scope" }, /decision_type: .*"branch"/],
  [
    "two recommended options of which one counts",
    "ask_decision",
    { ...decision, options: [{ ...tea, is_recommended: true }, recommended] },
    /options: more/,
  ],
  ["no context", "ask_decision", { decision_type: "risk", options: [tea, milk] }, /context: /],
])("a call with %s asks nobody, and says what is wrong (%s)", (_what, name, given, says) => {
  let thrown: unknown;
  try {
    questionOf(name, given);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(ToolError);
  expect(thrown).toMatchObject({ code: "invalid_arguments", message: expect.stringMatching(says) });
});
