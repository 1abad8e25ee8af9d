import { AppError } from "../../errors/app-error.ts";
import type { AnsweredBy, AnswerValue, Question } from "../../turn/question.ts";
import type { NewQuestion, PendingCall } from "../../turn/resumed-turn.ts";
import { LOOP_ANSWERS, PERMISSION_ANSWERS, STEP_ANSWERS } from "../../turn/question.ts";
import { saysNo } from "../tools/ask-person.ts";

/** What came of a question. `rule`: nobody could be asked. */
export interface Answer {
  value: AnswerValue;
  /** The person's own words. */
  text: string | null;
  by: AnsweredBy | "cancelled";
}

/** Milliseconds that somebody has to allow a call. */
const PERMISSION_MS = 300_000;
/** Somebody has to look at what was called. */
const LOOP_MS = 300_000;
/** Who steps through a turn reads between the steps. */
const STEP_MS = 3_600_000;
/** A caller that ran away with calls of its own tools. */
const CALLER_MS = 3_600_000;

const PERMISSIONS: Readonly<Record<(typeof PERMISSION_ANSWERS)[number], string>> = {
  allow_once: "Run this call.",
  allow_always: "Run it, and let this agent use this tool without asking.",
  deny: "Do not run it.",
};

const WAYS_OUT: Readonly<Record<(typeof LOOP_ANSWERS)[number], string>> = {
  stop: "Call no more tools, and answer from what there is.",
  continue: "Run it, and count anew.",
  correct: "Do not run it, and tell the agent what to do instead.",
  skip: "Do not run it, and go on.",
};

const STEPS: Readonly<Record<(typeof STEP_ANSWERS)[number], string>> = {
  step: "Do this step, and stop before the next one.",
  run: "Go on without stopping.",
  stop: "End the turn.",
};

const optionsOf = <Label extends string>(
  labels: readonly Label[],
  descriptions: Readonly<Record<Label, string>>,
  recommended?: Label,
): NewQuestion["options"] => labels.map((label) => ({ label, description: descriptions[label], is_recommended: label === recommended }));

/** Whether a call may run. Without an answer it may not. */
export function permissionQuestion(agent: string, { name, arguments: given }: PendingCall, digest: string): NewQuestion {
  return {
    type: "permission",
    question: `The agent "${agent}" wants to call "${name}". May it?`,
    options: optionsOf(PERMISSION_ANSWERS, PERMISSIONS),
    tool: { name, arguments: given, digest },
    ifUnanswered: "deny",
    timeoutMs: PERMISSION_MS,
  };
}

/** What to do about a call that repeats itself. */
export function loopQuestion(agent: string, { name, arguments: given }: PendingCall, count: number): NewQuestion {
  return {
    type: "decision",
    question: `The agent "${agent}" has called "${name}" ${count} times with the same arguments. The last call has not run. How shall it go on?`,
    options: optionsOf(LOOP_ANSWERS, WAYS_OUT, "stop"),
    tool: { name, arguments: given },
    ifUnanswered: "stop",
    timeoutMs: LOOP_MS,
  };
}

/** Before a step of a turn that is stepped through; without a call the model is asked. */
export function stepQuestion(agent: string, call: PendingCall | null): NewQuestion {
  return {
    type: "decision",
    question: `The agent "${agent}" is about to ${call ? `call "${call.name}"` : "ask its model"}. Shall it?`,
    options: optionsOf(STEP_ANSWERS, STEPS),
    ...(call ? { tool: { name: call.name, arguments: call.arguments } } : {}),
    ifUnanswered: "stop",
    timeoutMs: STEP_MS,
  };
}

/** Calls of the caller's own tools: it runs them, and sends the results. */
export function callerQuestion(agent: string, calls: readonly PendingCall[]): NewQuestion {
  return {
    type: "client_tool",
    question: `The agent "${agent}" calls ${calls.map(({ name }) => `"${name}"`).join(", ")}. Send the results.`,
    options: [],
    calls: calls.map(({ id, name, arguments: given }) => ({ call_id: id, name, arguments: given })),
    ifUnanswered: null,
    timeoutMs: CALLER_MS,
  };
}

/** Whether the person let the call run. */
export const isAllowed = ({ value }: Pick<Answer, "value">): boolean => value === "allow_once" || value === "allow_always";

const quoted = (labels: readonly string[]): string => labels.map((label) => `"${label}"`).join(", ");

/** What counts when nobody has answered a question of the model. */
function withoutAnswer({ options }: Pick<Question, "options">, labels: readonly string[], by: Answer["by"]): string {
  const nobody = by === "rule" ? "Nobody can be asked." : "Nobody answered in time.";
  const [first] = labels;
  if (first === undefined) return `${nobody} Do what is most likely meant and easily undone, and say in your answer what you assumed.`;
  const isRecommended = options.some(({ label, is_recommended }) => is_recommended && labels.includes(label));
  if (saysNo(first) || !isRecommended) return `${nobody} That counts as "no": do not do it, and say so in your answer.`;
  return `${nobody} What you recommended counts: ${quoted(labels)}. Say so in your answer.`;
}

/** The answer to a question of the model, as it reads it. Throws AppError `question_unanswered` when it needs one and there is none. */
export function answerForModel(question: Pick<Question, "options" | "required" | "agent">, { value, text, by }: Answer): string {
  const labels = value === null ? [] : [value].flat();
  if (by === "person") {
    const inWords = text === null ? "" : labels.length === 0 ? `The person says: ${text}` : ` They say: ${text}`;
    return labels.length === 0 ? inWords : `The person chose ${quoted(labels)}.${inWords}`;
  }
  if (!question.required) return withoutAnswer(question, labels, by);
  const why = by === "rule" ? "nobody can be asked in this turn" : "nobody answered it in time";
  throw new AppError(
    "question_unanswered",
    `The agent "${question.agent}" cannot go on without an answer to its question, and ${why}. Send the message again, and answer, or say it in the message.`,
  );
}

/** The results of a caller's calls, by call id. */
export function callerResults({ value }: Pick<Answer, "value">): ReadonlyMap<string, string> {
  const pairs = Array.isArray(value) ? value : [];
  return new Map(pairs.map((pair) => JSON.parse(pair) as [string, string]));
}

/** Results as an answer holds them. */
export const resultsAsAnswer = (results: ReadonlyMap<string, string>): string[] => [...results].map((pair) => JSON.stringify(pair));
