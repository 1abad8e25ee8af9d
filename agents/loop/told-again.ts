import type { Step } from "../../stores/postgres/agents/step-store.ts";
import type { NodeEvent } from "../../turn/events.ts";
import { PlanItem } from "../../turn/events.ts";
import { z } from "zod";
import { AnswerValue, Question, QuestionType } from "../../turn/question.ts";
import { ANSWERED, ASKED } from "../questions/ask.ts";
import { HANDOFF, handoffOf } from "../team/handoff.ts";

/** The characters of an output in its event; the step has all. */
export const SHOWN_CHARACTERS = 4_000;

export const shownOutput = (output: string): string => output.slice(0, SHOWN_CHARACTERS).toWellFormed();

const Plan = z.object({ items: z.array(PlanItem) });

type Told = Exclude<NodeEvent, { status: "accepted" }>;

const Asked = z.object({
  ...Question.pick({ question: true, options: true, allow_multiple: true, required: true, tool: true, sign_in: true }).shape,
  question_id: z.uuid(),
  timeout_ms: z.number(),
});

/** An answer as the step keeps it; a question that nobody answered, or that was cancelled, has no JSON. */
const AnswerText = z.string().transform((text, context) => {
  try {
    return AnswerValue.parse(JSON.parse(text));
  } catch {
    context.addIssue("is no answer");
    return z.NEVER;
  }
});

/** The events of a question and of its answer. None of calls that the caller runs, and of questions of earlier versions. */
function toldQuestion({ name, agent, path, arguments: given, output, ok, startedAt }: Step): Told[] {
  const [asked, type] = [Asked.safeParse(given).data, QuestionType.safeParse(name).data];
  if (!asked || type === undefined || type === "client_tool") return [];
  const { question_id: id, timeout_ms, ...about } = asked;
  const expires_at = new Date(startedAt.getTime() + timeout_ms).toISOString();
  const question: Told = { status: ASKED[type], content: { ...about, id, type, agent, path, expires_at } };
  const answer = output === null ? undefined : AnswerText.safeParse(output).data;
  if (answer === undefined) return [question];
  return [question, { status: ANSWERED[type], content: { question_id: id, answer, by: ok ? "person" : "timeout" } }];
}

/** The events of a turn's calls and questions, by its steps, for a reader who was away. */
export function toldAgain(steps: readonly Step[]): Told[] {
  return steps.flatMap((step): Told[] => (step.kind === "question" ? toldQuestion(step) : toldCall(step)));
}

function toldCall({ kind, callId, agent, path, task, name, arguments: given, output, ok, startedAt, endedAt }: Step): Told[] {
  if (kind !== "tool" || callId === null) return [];
  const call: Told = { status: "tool_call", content: { call_id: callId, agent, path, name, arguments: given } };
  if (endedAt === null) return [call];
  const handed = ok && name === HANDOFF ? handoffOf(agent, { name, arguments: given }) : null;
  const plan = name === "todo_write" && task === 0 ? Plan.safeParse(given).data : undefined;
  const shown = shownOutput(output ?? "");
  const result = { call_id: callId, agent, path, name, ok: ok === true, output: shown, cut: shown.length < (output ?? "").length };
  const ms = endedAt.getTime() - startedAt.getTime();
  return [
    call,
    ...(plan ? [{ status: "plan" as const, content: plan }] : []),
    { status: "tool_result", content: { ...result, ms } },
    ...(handed ? [{ status: "handoff" as const, content: handed }] : []),
  ];
}
