import type { Role } from "./message-store.ts";

/** A message among others in the order of their conversation. */
export interface OrderedMessage {
  id: string;
  role: Role;
  /** It is imported and has no partner yet. */
  isFree: boolean;
}

/** A question and its answer, by their ids. */
export type Pair = readonly [questionId: string, answerId: string];

/**
 * Pairs messages by their order: several questions in a row and the answers behind them one by one, so that times which cross do no harm.
 * Of more questions than answers the last ones are answered; of more answers the first ones are answers. A message that is not free
 * separates what is before it from what is behind it.
 */
export function pairImported(messages: readonly OrderedMessage[]): Pair[] {
  const pairs: Pair[] = [];
  let questions: string[] = [];
  let answers: string[] = [];
  function pairRun(): void {
    const count = Math.min(questions.length, answers.length);
    const answered = questions.slice(questions.length - count);
    answered.forEach((questionId, index) => pairs.push([questionId, answers[index] ?? ""]));
    [questions, answers] = [[], []];
  }
  for (const { id, role, isFree } of messages) {
    if (!isFree || (role === "user" && answers.length > 0)) pairRun();
    if (isFree) (role === "user" ? questions : answers).push(id);
  }
  pairRun();
  return pairs;
}
