import { AppError } from "../errors/app-error.ts";
import type { AnsweredBy, AnswerValue, Question } from "../turn/question.ts";
import type { NewQuestion, PendingCall } from "../turn/resumed-turn.ts";
import { PERMISSION_ANSWERS } from "../turn/question.ts";
import { saysNo } from "./tools/ask-person.ts";

/** What came of a question. `rule`: nobody could be asked. */
export interface Answer {
  value: AnswerValue;
  /** The person's own words. */
  text: string | null;
  by: AnsweredBy | "cancelled";
}

/** Milliseconds that somebody has to allow a call. */
const PERMISSION_MS = 300_000;
/** A caller that ran away with calls of its own tools. */
const CALLER_MS = 3_600_000;

const DESCRIPTIONS: Readonly<Record<(typeof PERMISSION_ANSWERS)[number], string>> = {
  allow_once: "Run this call.",
  allow_always: "Run it, and let this agent use this tool without asking.",
  deny: "Do not run it.",
};

/** Whether a call may run. Without an answer it may not. */
export function permissionQuestion(agent: string, { name, arguments: given }: PendingCall, digest: string): NewQuestion {
  return {
    type: "permission",
    question: `The agent "${agent}" wants to call "${name}". May it?`,
    options: PERMISSION_ANSWERS.map((label) => ({ label, description: DESCRIPTIONS[label], is_recommended: false })),
    tool: { name, arguments: given, digest },
    ifUnanswered: "deny",
    timeoutMs: PERMISSION_MS,
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
