import { type Question, type QuestionParts, toQuestion } from "../../../turn/question.ts";

export type QuestionJson = Omit<QuestionParts, "expiresAt"> & { expiresAt: string };

/** A question that crashes the service would be tried for ever. */
export const MOST_TIMES = 3;

/** SQL: whether a process runs the turn or will, beside `turns`. */
export const GOES_ON = `exists (
  select from questions where questions.turn_id = turns.id and answered_at is not null and resume is not null and taken < ${MOST_TIMES}
)`;

/** SQL: the question that a turn waits for, beside its `conversations`; null when another turn holds that. */
export const openQuestion = (turnId: "turns.id" | "conversations.turn_id"): string => `(
  select json_build_object('id', id, 'type', type, 'agent', agent, 'content', content, 'expiresAt', expires_at) from questions
  where questions.turn_id = ${turnId} and answered_at is null and conversations.turn_id = ${turnId}
)`;

export const fromJson = ({ expiresAt, ...parts }: QuestionJson): Question => toQuestion({ ...parts, expiresAt: new Date(expiresAt) });
