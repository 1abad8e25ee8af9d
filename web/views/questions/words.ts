import type { AnswerValue, Question } from "../../api/types.ts";
import type { AskedQuestion } from "../../state/turns/asked.ts";
import { pathInWords } from "../../state/turns/team.ts";
import { texts } from "../../texts/texts.ts";

const STEP_LABELS = ["step", "run", "stop"];
const LOOP_LABELS = ["stop", "continue", "correct", "skip"];

const offers = (question: AskedQuestion | Question, labels: readonly string[]): boolean =>
  "options" in question && question.options.length === labels.length && question.options.every(({ label }) => labels.includes(label));

/** A question in the page's language as far as its words are the service's. */
export function asWords(question: AskedQuestion | Question | null): string {
  if (!question) return "";
  const t = texts.value.questions;
  const { type, agent, tool, sign_in: signIn } = question;
  if (type === "permission" && tool) return t.permission(agent, tool.name);
  if (type === "decision" && tool && offers(question, LOOP_LABELS)) return t.loop(agent, tool.name);
  if (type === "decision" && offers(question, STEP_LABELS)) return tool ? t.stepCall(agent, tool.name) : t.stepModel(agent);
  if (signIn) return t.signIn(signIn.server, signIn.url);
  return question.question;
}

/** The same, with the path of a member that asks. */
export function askedInWords(question: AskedQuestion | Question | null): string {
  const words = asWords(question);
  return question && question.path.length > 1 ? `${pathInWords(question.path)}: ${words}` : words;
}

/** Labels of the service are translated; those of a model are its words. */
const known = (type: Question["type"], label: string, words: Record<string, string>): string | undefined =>
  type === "permission" || type === "decision" ? words[label] : undefined;

export const labelOf = ({ type }: Pick<Question, "type">, label: string): string =>
  known(type, label, texts.value.questions.options) ?? label;

export const describedOption = ({ type }: Question, label: string, description: string): string =>
  known(type, label, texts.value.questions.explained) ?? description;

export const answerAsWords = (question: AskedQuestion, answer: AnswerValue): string =>
  [answer ?? []]
    .flat()
    .map((label) => labelOf(question, label))
    .join(", ");
