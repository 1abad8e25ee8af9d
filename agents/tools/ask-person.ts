import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { storableText } from "../../text/storable-text.ts";
import type { AnswerValue, QuestionOption, NewQuestion } from "../../turn/question.ts";
import { ToolError } from "../run-tool-call.ts";
import type { AgentTool } from "../tool.ts";

/** Seconds to answer, unless the call says otherwise. */
const CLARIFICATION_S = 60;
const DECISION_S = 300;
/** Nobody reads a question faster; after a day nobody remembers it. */
const LEAST_S = 10;
const MOST_S = 86_400;

const MOST_CHARACTERS = 4_000;
const MOST_OPTIONS = 20;

const options = z
  .array(
    z.strictObject({
      label: z.string().trim().min(1).max(200).describe("A few words: people answer with it."),
      description: z.string().trim().max(1_000).default("").describe("What follows from it."),
      is_recommended: z.boolean().default(false).describe("What you would choose."),
    }),
  )
  .min(2, "give at least two options")
  .max(MOST_OPTIONS)
  .superRefine((given, context) => {
    const labels = given.map(({ label }) => label.toLowerCase());
    const twice = given.find(({ label }, index) => labels.indexOf(label.toLowerCase()) < index);
    if (twice) context.addIssue({ code: "custom", message: `two options are labelled "${twice.label}"; give each a label of its own` });
  });

const recommendedOf = (given: readonly QuestionOption[]): QuestionOption[] => given.filter(({ is_recommended }) => is_recommended);

/** For a question with one answer. */
const TOO_MANY_RECOMMENDED = "more than one option is recommended; recommend one at most";

const seconds = (usual: number) =>
  z.int().min(LEAST_S).max(MOST_S).default(usual).describe(`How long to wait for the answer. Default: ${usual}.`);
const words = z.string().trim().min(1).max(MOST_CHARACTERS);

const Clarification = z
  .strictObject({
    question_type: z.enum(["scope", "approach", "prerequisite", "priority"]),
    question: words,
    options,
    required: z.boolean().default(false).describe("True: without an answer you cannot go on, and the turn ends."),
    timeout_seconds: seconds(CLARIFICATION_S),
  })
  .refine((given) => recommendedOf(given.options).length <= 1, { path: ["options"], message: TOO_MANY_RECOMMENDED });

const Decision = z
  .strictObject({
    decision_type: z.enum(["branch", "method", "confirmation", "risk", "custom"]),
    context: words.describe("What is to be decided, and what one needs to know for it."),
    options,
    allow_multiple: z.boolean().default(false).describe("True: people may choose several options."),
    timeout_seconds: seconds(DECISION_S),
  })
  .refine((given) => given.allow_multiple || recommendedOf(given.options).length <= 1, {
    path: ["options"],
    message: TOO_MANY_RECOMMENDED,
  });

const NO = ["no", "否", "不"];
export const saysNo = (label: string): boolean => NO.includes(label.toLowerCase());

const noOf = (given: readonly QuestionOption[]): string => given.find(({ label }) => saysNo(label))?.label ?? "no";

function storable(given: readonly QuestionOption[]): QuestionOption[] {
  return given.map(({ label, description, is_recommended }) => {
    return { label: storableText(label), description: storableText(description), is_recommended };
  });
}

function clarificationOf({ question, required, timeout_seconds, ...given }: z.infer<typeof Clarification>): NewQuestion {
  const options = storable(given.options);
  const ifUnanswered = required ? null : (recommendedOf(options)[0]?.label ?? null);
  return { type: "clarification", question: storableText(question), options, required, ifUnanswered, timeoutMs: timeout_seconds * 1_000 };
}

function decisionOf({ decision_type, context, allow_multiple, timeout_seconds, ...given }: z.infer<typeof Decision>): NewQuestion {
  const options = storable(given.options);
  const recommended = recommendedOf(options).map(({ label }) => label);
  const asRecommended: AnswerValue = recommended.length === 0 ? null : allow_multiple ? recommended : (recommended[0] ?? null);
  const isDangerous = decision_type === "risk" || decision_type === "confirmation";
  const ifUnanswered = isDangerous ? noOf(options) : asRecommended;
  return { type: "decision", question: storableText(context), options, allow_multiple, ifUnanswered, timeoutMs: timeout_seconds * 1_000 };
}

/** Makes a tool whose calls are questions. The model reads the problems of a call by field. */
function makeAskTool<Given>(
  name: string,
  description: string,
  schema: z.ZodType<Given, Record<string, unknown>> & z.ZodObject,
  toQuestion: (given: Given) => NewQuestion,
): AgentTool {
  return {
    name,
    isHarmless: true,
    onlyReads: true,
    asks(given) {
      const { data, error } = schema.safeParse(given);
      if (!error) return toQuestion(data);
      const problems = error.issues.map(({ path, message }) => `${path.join(".") || "the arguments"}: ${message}`).join("; ");
      throw new ToolError("invalid_arguments", `Nobody was asked. ${problems}.`, "Correct the arguments and call the tool again.");
    },
    tool: tool(() => "", { name, description, schema }),
  };
}

/** The tools by which a model asks its person. */
export const askingTools: readonly AgentTool[] = [
  makeAskTool(
    "ask_clarification",
    "Asks the person what they meant when it is not clear and you cannot find it out: the scope, the approach, what has to be there first, or what comes first. The person chooses an option or answers in their own words. Nobody answers in time: the recommended option counts.",
    Clarification,
    clarificationOf,
  ),
  makeAskTool(
    "ask_decision",
    "Lets the person decide: between ways to go on, about a risk, or whether something shall be done at all. Nobody answers in time: the recommended option counts, and for a risk or a confirmation the answer is no.",
    Decision,
    decisionOf,
  ),
];
