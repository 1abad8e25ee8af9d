import { shownArguments } from "../../../text/tool-arguments.ts";
import type { Question, QuestionType } from "../../../turn/question.ts";
import type { NewQuestion } from "../../../turn/resumed-turn.ts";

/** A question as stored: the arguments of calls are the model's text. */
export interface QuestionParts {
  id: string;
  type: QuestionType;
  agent: string;
  content: Pick<NewQuestion, "question" | "options" | "tool" | "sign_in" | "calls"> & { allow_multiple: boolean; required: boolean };
  expiresAt: Date;
}

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

export const shownTool = ({ name, arguments: given }: { name: string; arguments: string }) => ({
  name,
  arguments: shownArguments({ arguments: given }),
});

/** As clients see it. */
export function toQuestion({ id, type, agent, content, expiresAt }: QuestionParts): Question {
  const { question, options, allow_multiple, required, tool, sign_in, calls } = content;
  return {
    ...{ id, type, agent, question, options, allow_multiple, required },
    ...(tool && { tool: shownTool(tool) }),
    ...(sign_in && { sign_in }),
    ...(calls && { calls: calls.map((call) => ({ call_id: call.call_id, ...shownTool(call) })) }),
    expires_at: expiresAt.toISOString(),
  };
}

export const fromJson = ({ expiresAt, ...parts }: QuestionJson): Question => toQuestion({ ...parts, expiresAt: new Date(expiresAt) });

export function contentOf({
  question,
  options,
  allow_multiple = false,
  required = false,
  tool,
  sign_in,
  calls,
}: NewQuestion): QuestionParts["content"] {
  return { question, options, allow_multiple, required, ...(tool && { tool }), ...(sign_in && { sign_in }), ...(calls && { calls }) };
}
