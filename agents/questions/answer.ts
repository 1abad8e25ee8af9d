import { AppError } from "../../errors/app-error.ts";
import type { QuestionStore, StoredQuestion } from "../../stores/postgres/agents/question-store.ts";
import type { GivenAnswer, GivenAnew, ResumedTurn } from "../../turn/resumed-turn.ts";
import { storableText } from "../../text/storable-text.ts";
import type { Owner, OwnerScope } from "../../turn/owner.ts";
import type { Picture } from "../../turn/picture.ts";
import { type AnswerValue, isAnsweredBy, LOOP_ANSWERS, type Question, STEP_ANSWERS } from "../../turn/question.ts";
import { resultsAsAnswer } from "./questions.ts";

/** Labels of options, own words, or the results of the caller's calls. */
export interface Reply {
  answer?: AnswerValue | undefined;
  text?: string | undefined;
  results?: readonly { call_id: string; output: string }[] | undefined;
  pictures?: readonly Picture[] | undefined;
  /** Default: the turn goes on with its first input. */
  givenAnew?: GivenAnew | undefined;
}

const invalid = (field: string, problem: string): AppError => AppError.invalid([{ field, problem }]);

function toResults(question: Question, { results, answer }: Reply): GivenAnswer {
  if (answer !== undefined || results === undefined)
    throw invalid("results", "is missing; this question is answered by the results of its calls");
  const asked = (question.calls ?? []).map(({ call_id }) => call_id);
  const given = new Map(results.map(({ call_id, output }) => [call_id, output]));
  const missing = asked.filter((id) => !given.has(id));
  if (missing.length > 0) throw invalid("results", `lacks the calls ${missing.join(", ")}; answer all of them at once`);
  const unknown = [...given.keys()].filter((id) => !asked.includes(id));
  if (unknown.length > 0) throw invalid("results", `holds ${unknown.join(", ").slice(0, 200)}, which this question does not ask for`);
  return { value: resultsAsAnswer(given), text: null };
}

/** Throws AppError `invalid_request` when the reply does not answer the question. */
export function toGivenAnswer(question: Question, reply: Reply): GivenAnswer {
  const { type, options, allow_multiple: allowMultiple } = question;
  if (type === "client_tool") return toResults(question, reply);
  if (reply.results !== undefined) throw invalid("results", "is for calls of the caller's own tools; send `answer`");
  const labels = options.map(({ label }) => label);
  const chosen = [reply.answer ?? []].flat();
  const text = reply.text?.trim() || null;
  if (text !== null && storableText(text) !== text) throw invalid("text", "holds a NUL character or half of a surrogate pair; remove it");
  const unknown = chosen.filter((label) => !labels.includes(label));
  if (unknown.length > 0) throw invalid("answer", `"${unknown[0]?.slice(0, 80)}" is none of the options: ${labels.join(", ")}`);
  if (chosen.length > 1 && !allowMultiple) throw invalid("answer", "has several labels; this question takes one");
  const takesLabel = type === "permission" || isAnsweredBy(question, STEP_ANSWERS);
  if (chosen.length === 0 && (text === null || takesLabel))
    throw invalid("answer", `is missing; send one of ${labels.join(", ")}${takesLabel ? "" : ", or `text`"}`);
  if (chosen[0] === "correct" && text === null && isAnsweredBy(question, LOOP_ANSWERS))
    throw invalid("text", "is missing; say what the agent shall do instead");
  const value = chosen.length === 0 ? null : allowMultiple ? [...new Set(chosen)] : (chosen[0] ?? null);
  return { value, text, allowAlways: value === "allow_always" };
}

const noSuchQuestion = (questionId: string): AppError => new AppError("not_found", `There is no question ${questionId} of this turn.`);

function refusal({ question, answeredBy }: StoredQuestion): AppError {
  if (answeredBy === "person")
    return new AppError("already_answered", `Question ${question.id} has been answered. The first answer counts.`);
  const why = answeredBy === "cancelled" ? "its turn was ended" : "nobody answered it in time";
  return new AppError("question_expired", `Question ${question.id} can no longer be answered: ${why}.`);
}

/** `Permit`: the resource of a running turn. */
export interface AnswerParts<Permit extends { release(): void }, Turn, Watch> {
  questions: Pick<QuestionStore, "find" | "answer">;
  admit: (owner: Owner) => Promise<Permit>;
  leaseMs: number;
  /** Throws AppError `shutting_down`. */
  assertOpen: () => void;
  goOn: (resumed: ResumedTurn, permit: Permit, watch?: Watch) => Turn;
}

/** Answers questions. The turn goes on in this process. */
export function makeAnswerQuestion<Permit extends { release(): void }, Turn, Watch>({
  questions,
  admit,
  leaseMs,
  assertOpen,
  goOn,
}: AnswerParts<Permit, Turn, Watch>) {
  /**
   * Throws AppError `not_found` (also for others' questions), `already_answered`, `question_expired`, `invalid_request`, and what admitting
   * a turn throws. Then nothing has changed.
   */
  return async function answerQuestion(
    scope: OwnerScope,
    turnId: string,
    questionId: string,
    reply: Reply,
    watch?: Watch,
  ): Promise<{ turn: Turn; given: GivenAnswer }> {
    const stored = await questions.find(scope, turnId, questionId);
    if (!stored) throw noSuchQuestion(questionId);
    if (!stored.isOpen) throw refusal(stored);
    const given = toGivenAnswer(stored.question, reply);
    const permit = await admit(stored);
    try {
      assertOpen();
      const resumed = await questions.answer(stored, questionId, { ...given, givenAnew: reply.givenAnew }, leaseMs);
      if (resumed) return { turn: goOn({ ...resumed, pictures: reply.pictures ?? [] }, permit, watch), given };
    } catch (error) {
      permit.release();
      throw error;
    }
    permit.release();
    const now = await questions.find(scope, turnId, questionId);
    throw now ? refusal(now) : noSuchQuestion(questionId);
  };
}
