import { type Question, type QuestionParts, toQuestion } from "../../../turn/question.ts";

export type QuestionJson = Omit<QuestionParts, "expiresAt"> & { expiresAt: string };

/** The channel for the milliseconds until a turn may have to be looked at. */
export const QUESTION_CHANNEL = "conversation_graph_questions";

/** How often a turn is begun: one that crashes the service would be tried for ever. */
export const MOST_ATTEMPTS = 3;

/** SQL: whether another process takes the turn over when its own dies, beside `turns`. */
export const GOES_ON = `(attempts < ${MOST_ATTEMPTS} and (turns.resume is not null
  or exists (select from questions where questions.turn_id = turns.id and answered_at is not null and questions.resume is not null)))`;

/** SQL: the question that a turn waits for, beside its `conversations`; null when another turn holds that. */
export const openQuestion = (turnId: "turns.id" | "conversations.turn_id"): string => `(
  select json_build_object('id', id, 'type', type, 'agent', agent, 'content', content, 'expiresAt', expires_at) from questions
  where questions.turn_id = ${turnId} and answered_at is null and conversations.turn_id = ${turnId}
)`;

export const fromJson = ({ expiresAt, ...parts }: QuestionJson): Question => toQuestion({ ...parts, expiresAt: new Date(expiresAt) });
