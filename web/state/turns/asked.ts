import type { AnswerValue, Question, TurnStep } from "../../api/types.ts";

/** `elsewhere`: closed in an unknown way. */
export type ClosedBy = "person" | "timeout" | "rule" | "elsewhere";

/** What is kept of a closed question. */
export type AskedQuestion = Pick<Question, "id" | "type" | "agent" | "path" | "question" | "sign_in"> & {
  tool?: { name: string } | undefined;
};

export interface ClosedQuestion {
  question: AskedQuestion;
  answer: AnswerValue;
  by: ClosedBy;
}

/** The closed questions of a turn, and the open one. */
export interface Asked {
  open: Question | null;
  closed: readonly ClosedQuestion[];
}

export const NOTHING_ASKED: Asked = { open: null, closed: [] };

/** The stream may tell of a question again. */
export function addQuestion(asked: Asked, question: Question): Asked {
  if (asked.open?.id === question.id || asked.closed.some((one) => one.question.id === question.id)) return asked;
  return { ...closeOpen(asked), open: question };
}

export function closeQuestion({ open, closed }: Asked, id: string, answer: AnswerValue, by: ClosedBy): Asked {
  if (open?.id === id) return { open: null, closed: [...closed, { question: open, answer, by }] };
  // The stream beats a guess.
  return { open, closed: closed.map((one) => (one.question.id === id && one.by === "elsewhere" ? { ...one, answer, by } : one)) };
}

/** A turn that has ended, or asks something else, no longer waits for it. */
export const closeOpen = (asked: Asked): Asked => (asked.open ? closeQuestion(asked, asked.open.id, null, "elsewhere") : asked);

/** What the stream has told meanwhile stays. */
export function withEarlier({ open, closed }: Asked, earlier: readonly ClosedQuestion[]): Asked {
  const told = new Set([open?.id, ...closed.map(({ question }) => question.id)]);
  return { open, closed: [...earlier.filter(({ question }) => !told.has(question.id)), ...closed] };
}

function answerIn(output: string): AnswerValue {
  try {
    return JSON.parse(output) as AnswerValue;
  } catch {
    return null; // how it was closed, or only the person's own words
  }
}

export function toClosedQuestions(steps: readonly TurnStep[]): ClosedQuestion[] {
  return steps.flatMap(({ kind, name, agent, path, arguments: given, output, ok }) => {
    if (kind !== "question" || output === null) return [];
    const { question_id: id, ...asked } = given as Omit<AskedQuestion, "id" | "type" | "agent" | "path"> & { question_id: string };
    const by = ok ? "person" : output === "cancelled" ? "elsewhere" : "timeout";
    return [{ question: { ...asked, id, type: name as Question["type"], agent, path }, answer: answerIn(output), by }];
  });
}
