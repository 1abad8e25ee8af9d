import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import { contentOf, toQuestion } from "../../stores/postgres/turns/question-rows.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import type { NodeEvent } from "../../turn/events.ts";
import type { Question } from "../../turn/question.ts";
import type { NewQuestion, ResumedTurn, WaitingState } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import type { AgentTurn } from "./agent-turn.ts";
import type { Asking } from "./answered-calls.ts";

const ASKED = { permission: "permission_asked", clarification: "clarification_asked", decision: "decision_asked" } as const;
const ANSWERED = { permission: "permission_replied", clarification: "clarification_answered", decision: "decision_answered" } as const;

/** Stores a question with all that the turn needs to go on. From then on the turn waits, and this process no longer has it. */
export async function askQuestion(
  { held, runtime, signal, questions, progress, toResume }: AgentTurn,
  agent: Agent,
  { question, about, pending, end }: Pick<Asking, "question" | "about"> & Pick<WaitingState, "pending" | "end">,
): Promise<Question> {
  const id = uuidv7();
  const seq = ++progress.steps;
  const soFar = {
    usage: progress.usage,
    steps: progress.steps,
    called: progress.called,
    models: [...progress.models],
    elapsedMs: progress.elapsedMs,
    ...(progress.loopsFrom === undefined ? {} : { loopsFrom: progress.loopsFrom }),
    ...(progress.isStepping ? { isStepping: true } : {}),
  };
  const { notices = [], characters = 0 } = runtime.context?.progress?.() ?? {};
  const resume: WaitingState = {
    ...toResume(agent),
    pending,
    ...(about ? { about } : {}),
    ...(end ? { end } : {}),
    soFar,
    notices,
    characters,
  };
  const asked = { ...question, id, agent: agent.name, seq, resume };
  const expiresAt = await retryWhileUnreachable(() => questions.ask(held, asked), signal);
  if (!expiresAt) throw new AppError("turn_superseded", "Another turn took over the conversation before the question was stored.");
  const shown = toQuestion({ id, type: question.type, agent: agent.name, content: contentOf(question), expiresAt });
  if (shown.type !== "client_tool") emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  return shown;
}

/** Tells of a question that nobody can be asked, and that a rule has answered. */
export function tellUnasked(runtime: TurnRuntime, agent: Agent, asked: NewQuestion): Question {
  const shown = toQuestion({ id: uuidv7(), type: asked.type, agent: agent.name, content: contentOf(asked), expiresAt: new Date() });
  if (shown.type === "client_tool") return shown;
  emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  emit(runtime, { status: ANSWERED[shown.type], content: { question_id: shown.id, answer: asked.ifUnanswered, by: "rule" } });
  return shown;
}

/** Tells how the question was answered. */
export function tellAnswer(runtime: TurnRuntime, { answered: { question, value, by } }: ResumedTurn): void {
  if (question.type === "client_tool" || by === "cancelled") return;
  emit(runtime, { status: ANSWERED[question.type], content: { question_id: question.id, answer: value, by } });
}
