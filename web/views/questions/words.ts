import type { AnswerValue, Question } from "../../api/types.ts";
import type { AskedQuestion } from "../../state/asked.ts";
import { texts } from "../../texts/texts.ts";

/** A question in the page's language as far as its words are the service's. */
export function asWords(question: AskedQuestion | null): string {
  if (!question) return "";
  const { type, agent, tool } = question;
  return type === "permission" && tool ? texts.value.questions.permission(agent, tool.name) : question.question;
}

/** The service's own labels are translated; those of a model are its words. */
export const labelOf = ({ type }: Pick<Question, "type">, label: string): string =>
  (type === "permission" ? texts.value.questions.options[label] : undefined) ?? label;

export const describedOption = ({ type }: Question, label: string, description: string): string =>
  (type === "permission" ? texts.value.questions.explained[label] : undefined) ?? description;

export const answerAsWords = (question: AskedQuestion, answer: AnswerValue): string =>
  [answer ?? []]
    .flat()
    .map((label) => labelOf(question, label))
    .join(", ");
