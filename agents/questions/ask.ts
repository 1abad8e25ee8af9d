import { type AgentRun, type AgentTurn, resumeFrom } from "../agent-turn.ts";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import { contentOf, toQuestion, type Question, type NewQuestion } from "../../turn/question.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import type { NodeEvent } from "../../turn/events.ts";
import type { Answered, PendingCall } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import type { ToAsk } from "../tool.ts";
import { type Asking, callerQuestion, type Ready, said, STOPPED } from "./questions.ts";
import { answerForModel, ofLoop } from "./resume.ts";

export const ASKED = { permission: "permission_asked", clarification: "clarification_asked", decision: "decision_asked" } as const;
export const ANSWERED = {
  permission: "permission_replied",
  clarification: "clarification_answered",
  decision: "decision_answered",
} as const;

export const toAskAbout = ({ name }: Agent, { path, task }: AgentRun, { question, before }: Asking): ToAsk => ({
  ...{ question, agent: name, path, task },
  ...(before ? { before } : {}),
});

/** Stores a question with all that the turn needs to go on. Then the turn waits, and this process no longer has it. */
export async function askQuestion(turn: AgentTurn, { question, before, agent, path, task }: ToAsk): Promise<Question> {
  const { held, runtime, signal, questions, progress } = turn;
  if (before) emit(runtime, before);
  const id = uuidv7();
  const seq = ++progress.steps;
  const asked = { ...question, id, agent, path, task, seq, resume: resumeFrom(turn, task) };
  const expiresAt = await retryWhileUnreachable(() => questions.ask(held, asked), signal);
  if (!expiresAt) throw new AppError("turn_superseded", "Another turn took over the conversation before the question was stored.");
  const shown = toQuestion({ id, type: question.type, agent, content: { ...contentOf(question), path }, expiresAt });
  if (shown.type !== "client_tool") emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  return shown;
}

/** A call to ask about; null: the caller is to run it. */
export interface WaitingCall {
  call: PendingCall;
  ask: Asking | null;
}

/** In this order they are asked about: the caller's come last, and together. */
export const inOrder = (calls: readonly WaitingCall[]): WaitingCall[] =>
  [...calls].sort((one, other) => Number(one.ask === null) - Number(other.ask === null));

/** What to ask about the first of these calls. */
export const askingOf = ({ name }: Agent, calls: readonly WaitingCall[]): Asking =>
  calls[0]?.ask ?? {
    question: callerQuestion(
      name,
      calls.map(({ call }) => call),
    ),
  };

interface Asker {
  agent: Agent;
  run: Pick<AgentRun, "path">;
}

/** Tells of a question that a rule has answered, as nobody can be asked. */
function tellUnasked(runtime: TurnRuntime, { agent, run: { path } }: Asker, asked: NewQuestion): Question {
  const content = { ...contentOf(asked), path };
  const shown = toQuestion({ id: uuidv7(), type: asked.type, agent: agent.name, content, expiresAt: new Date() });
  if (shown.type === "client_tool") return shown;
  emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  emit(runtime, { status: ANSWERED[shown.type], content: { question_id: shown.id, answer: asked.ifUnanswered, by: "rule" } });
  return shown;
}

/** The rule's verdict on a call when nobody can be asked. `end`: why no more tools are called. Throws AppError `question_unanswered`. */
export function answerByRule(
  runtime: TurnRuntime,
  asker: Asker,
  call: PendingCall,
  { question, about, before }: Asking,
): { ready: Ready; end: string | null } {
  if (before) emit(runtime, before);
  const answer = { value: question.ifUnanswered, text: null, by: "rule" } as const;
  const shown = tellUnasked(runtime, asker, question);
  if (about !== "loop") return { ready: said(answerForModel(shown, answer)), end: null };
  return { ready: STOPPED, end: ofLoop([call], answer).end ?? null };
}

export function tellAnswer(runtime: TurnRuntime, { question, value, by }: Answered): void {
  if (question.type === "client_tool") return;
  emit(runtime, { status: ANSWERED[question.type], content: { question_id: question.id, answer: value, by } });
}
