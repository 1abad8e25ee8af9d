import type { Answered, NewQuestion, PendingCall } from "../turn/resumed-turn.ts";
import { PERMISSION_ANSWERS } from "../turn/question.ts";

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
export const isAllowed = ({ value }: Pick<Answered, "value">): boolean => value === "allow_once" || value === "allow_always";

/** The results of a caller's calls, by call id. */
export function callerResults({ value }: Pick<Answered, "value">): ReadonlyMap<string, string> {
  const pairs = Array.isArray(value) ? value : [];
  return new Map(pairs.map((pair) => JSON.parse(pair) as [string, string]));
}

/** Results as an answer holds them. */
export const resultsAsAnswer = (results: ReadonlyMap<string, string>): string[] => [...results].map((pair) => JSON.stringify(pair));
