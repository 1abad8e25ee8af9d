import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import { contentOf, toQuestion, type Question, type NewQuestion } from "../../turn/question.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import type { NodeEvent } from "../../turn/events.ts";
import type { Answered, PendingCall, WaitingState } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { type AgentTurn, resumeFrom } from "../agent-turn.ts";
import { type Asking, callerQuestion, type Ready, said, STOPPED } from "./questions.ts";
import { answerForModel, ofLoop } from "./resume.ts";

const ASKED = { permission: "permission_asked", clarification: "clarification_asked", decision: "decision_asked" } as const;
const ANSWERED = { permission: "permission_replied", clarification: "clarification_answered", decision: "decision_answered" } as const;

/** `elapsedMs`: how long the agent has run, without waiting. */
interface ToAsk extends Asking, Pick<WaitingState, "pending" | "end"> {
  elapsedMs: number;
}

/** Stores a question with all that the turn needs to go on. Then the turn waits, and this process no longer has it. */
export async function askQuestion(
  turn: AgentTurn,
  agent: Agent,
  { question, about, before, pending, end, elapsedMs }: ToAsk,
): Promise<Question> {
  const { held, runtime, signal, questions, progress } = turn;
  if (before) emit(runtime, before);
  const id = uuidv7();
  const seq = ++progress.steps;
  const resume = resumeFrom(turn, agent, { pending, ...(about ? { about } : {}), ...(end ? { end } : {}), elapsedMs });
  if (!resume) throw new Error("a subagent asks nobody");
  const asked = { ...question, id, agent: agent.name, seq, resume };
  const expiresAt = await retryWhileUnreachable(() => questions.ask(held, asked), signal);
  if (!expiresAt) throw new AppError("turn_superseded", "Another turn took over the conversation before the question was stored.");
  const shown = toQuestion({ id, type: question.type, agent: agent.name, content: contentOf(question), expiresAt });
  if (shown.type !== "client_tool") emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  return shown;
}

/** A call to ask about; null: the caller is to run it. */
export interface WaitingCall {
  call: PendingCall;
  ask: Asking | null;
}

/** Asks about the first of these calls; the caller's come last, and together. */
export function askAboutCalls(turn: AgentTurn, agent: Agent, calls: readonly WaitingCall[], elapsedMs: number): Promise<Question> {
  const inOrder = [...calls].sort((one, other) => Number(one.ask === null) - Number(other.ask === null));
  const pending = inOrder.map(({ call }) => call);
  const asking = inOrder[0]?.ask ?? { question: callerQuestion(agent.name, pending) };
  return askQuestion(turn, agent, { ...asking, pending, elapsedMs });
}

/** Tells of a question that a rule has answered, as nobody can be asked. */
function tellUnasked(runtime: TurnRuntime, agent: Agent, asked: NewQuestion): Question {
  const shown = toQuestion({ id: uuidv7(), type: asked.type, agent: agent.name, content: contentOf(asked), expiresAt: new Date() });
  if (shown.type === "client_tool") return shown;
  emit(runtime, { status: ASKED[shown.type], content: shown } satisfies NodeEvent);
  emit(runtime, { status: ANSWERED[shown.type], content: { question_id: shown.id, answer: asked.ifUnanswered, by: "rule" } });
  return shown;
}

/** The rule's verdict on a call when nobody can be asked. `end`: why no more tools are called. Throws AppError `question_unanswered`. */
export function answerByRule(
  runtime: TurnRuntime,
  agent: Agent,
  call: PendingCall,
  { question, about, before }: Asking,
): { ready: Ready; end: string | null } {
  if (before) emit(runtime, before);
  const answer = { value: question.ifUnanswered, text: null, by: "rule" } as const;
  const shown = tellUnasked(runtime, agent, question);
  if (about !== "loop") return { ready: said(answerForModel(shown, answer)), end: null };
  return { ready: STOPPED, end: ofLoop([call], answer).end ?? null };
}

export function tellAnswer(runtime: TurnRuntime, { question, value, by }: Answered): void {
  if (question.type === "client_tool") return;
  emit(runtime, { status: ANSWERED[question.type], content: { question_id: question.id, answer: value, by } });
}
