/*
 * THE LIFE OF A QUESTION. It is a row; the turn that asks ends, and holds its conversation by a lease without end.
 *
 * state      how it comes about                                      what follows                                             function
 * ---------  ------------------------------------------------------  -------------------------------------------------------  -----------------------
 * judged     an agent wants to call a tool, or to take a step        the call runs, is refused, or somebody has to be asked   judge
 *            a server asks in the middle of a call, which fails      the call is to be made again, once its form is filled    callAgain
 * by rule    nobody can be asked: `interactive: false`               what counts without an answer, at once                   answerByRule, runToolCall
 * open       row, step, lease and job are stored in one statement    the turn waits, through restarts, until one of these:    askQuestion
 * answered   somebody answers: the first answer that fits counts     that process takes the turn and goes on                  answerQuestion
 * expired    its time is over: what counts without an answer counts  the process that looks first takes the turn, goes on     makeWaitingTurns
 * cancelled  the turn is cancelled, or a new message takes its place the process that closed it ends the turn                 endWaiting
 * resumed    the turn runs again from its steps                      each waiting call gets its verdict; then the next        resumeCalls
 *                                                                    question is asked, or the model
 * cut off    a process died after an answer, a time-out or a cancel  its lease runs out, another takes the turn: three times  makeWaitingTurns
 *                                                                    in all, deaths between other steps included
 *            a process died while the question was open              nothing: no process has an open question
 * over       the turn asks anew, has ended, was cut off three times, what it needed to go on is forgotten                     QuestionStore.ask, untilDue
 *            or another has its conversation
 * erased     its conversation is erased                              nothing of it is left, and the turn does not go on       the foreign key
 *
 * WHO ASKS WHAT. The user of the turn, or a key of the tenant, may answer.
 *
 * kind        who asks                               the answers, and what each does                                     without an answer
 * ----------  -------------------------------------  ------------------------------------------------------------------  ---------------------------
 * permission  the judge: no permission decides the   allow_once runs it; allow_always keeps that too; deny refuses it    deny, after 5 min
 *             call, or a rule has it asked about
 * loop        the judge: the call repeats itself     stop ends all calls; correct and skip refuse it; continue has it    stop, after 5 min
 *                                                    judged on, as a call that has come for the first time
 * step        judge and loop, of a stepping turn     step goes on to the next one; run to the end; stop cancels          stop, after 1 h
 * form        an MCP server in the middle of a call  values, field by field: the call is made again; decline             not made again, after 5 min
 * model's     ask_clarification, ask_decision        a label or own words, which are the result of the call              recommended, "no", or failure
 * sign-in     the sign-in tool of an MCP server      signed_in or skip, the result of the call                           skip, after 10 min
 * caller's    the model calls tools of the caller,   the results of all calls                                            no results, after 1 h
 *             also when nobody can be asked
 */
import type { Ruling } from "../../stores/postgres/agents/step-store.ts";
import type { PermissionAction } from "../../turn/agent.ts";
import type { NodeEvent } from "../../turn/events.ts";
import type { AnsweredBy, AnswerValue, LOOP_ANSWERS, PERMISSION_ANSWERS, STEP_ANSWERS, NewQuestion } from "../../turn/question.ts";
import type { PendingCall } from "../../turn/resumed-turn.ts";
import { notRun, ToolError, type ToolOutcome } from "../run-tool-call.ts";

/** The result of a question. `rule`: nobody could be asked. */
export interface Answer {
  value: AnswerValue;
  /** The person's own words. */
  text: string | null;
  by: AnsweredBy;
}

/** A question about a call; the turn first tells `before`. `about`: see WaitingState. */
export interface Asking {
  question: NewQuestion;
  about?: "loop" | "step" | "rule";
  before?: NodeEvent;
}

/** A call that a rule has refused, or has asked about. */
export interface Rejected {
  action: "refuse" | "ask";
  event: Extract<NodeEvent, { status: "decision_rejected" }>;
}

/** A call that runs, or has its outcome without running. `ruling`: what a permission decided; `byRule`: what a rule did. */
export type Ready =
  | { run: PermissionAction; ruling?: "allow" | "allow_always" | "deny" | undefined }
  | { outcome: ToolOutcome; byRule?: { rule: string; answer: "refuse" | "deny" } };

/** The verdict on a call: ready, somebody is asked first (null: the caller), or would be, if somebody could be. */
export type Verdict = Ready | { ask: Asking | null } | { unasked: Asking };

export const said = (output: string): Ready => ({ outcome: { ok: true, output, isCut: false, ms: 0 } });
export const refused = (code: string, message: string, fix: string): Ready => ({ outcome: notRun(new ToolError(code, message, fix)) });

export const STOPPED: Ready = refused("stopped", "This call was not run.", "Call no more tools, and answer from what there is.");

/** What decided about a call without a person, for the audit. */
export function rulingOf(verdict: Verdict, { correctedBy: rule }: PendingCall): Ruling | undefined {
  if ("outcome" in verdict && verdict.byRule) return { type: "permission", ...verdict.byRule };
  if (rule !== undefined) return { type: "permission", answer: "correct", rule };
  if ("unasked" in verdict) {
    const { type, question, ifUnanswered: answer } = verdict.unasked.question;
    return { type, question, answer };
  }
  return "run" in verdict && verdict.ruling ? { type: "permission", answer: verdict.ruling } : undefined;
}

/** The effect of each label, what counts without an answer, and the milliseconds to answer. */
interface Kind<Label extends string> {
  answers: Readonly<Record<Label, string>>;
  recommended?: Label;
  ifUnanswered: Label;
  timeoutMs: number;
}

const PERMISSION: Kind<(typeof PERMISSION_ANSWERS)[number]> = {
  answers: {
    allow_once: "Run this call.",
    allow_always: "Run it, and let this agent use this tool without asking.",
    deny: "Do not run it.",
  },
  ifUnanswered: "deny",
  timeoutMs: 300_000,
};

const LOOP: Kind<(typeof LOOP_ANSWERS)[number]> = {
  answers: {
    stop: "Call no more tools, and answer from what there is.",
    continue: "Run it, and count anew.",
    correct: "Do not run it, and tell the agent what to do instead.",
    skip: "Do not run it, and go on.",
  },
  recommended: "stop",
  ifUnanswered: "stop",
  timeoutMs: 300_000, // somebody has to read what was called
};

const STEP: Kind<(typeof STEP_ANSWERS)[number]> = {
  answers: {
    step: "Do this step, and stop before the next one.",
    run: "Go on without stopping.",
    stop: "End the turn.",
  },
  ifUnanswered: "stop",
  timeoutMs: 3_600_000, // people read between the steps
};

/** Milliseconds after which a caller has abandoned its calls. */
const CALLER_MS = 3_600_000;

function ofKind<Label extends string>({ answers, recommended, ifUnanswered, timeoutMs }: Kind<Label>) {
  const options = Object.entries<string>(answers).map(([label, description]) => {
    return { label, description, is_recommended: label === recommended };
  });
  return { options, ifUnanswered, timeoutMs };
}

/** `mayHaveRun`: the call was cut off, when its process died. `why`: the message of the rule that asks. */
export function permissionQuestion(
  agent: string,
  { name, arguments: given }: PendingCall,
  { digest, mayHaveRun, why }: { digest: string; mayHaveRun: boolean; why?: string },
): NewQuestion {
  const unknown = mayHaveRun ? " It is not known whether this ran before: the process that made the call died." : "";
  const question = `The agent "${agent}" wants to call "${name}". May it?${why ? ` ${why}` : ""}${unknown}`;
  return { type: "permission", question, ...ofKind(PERMISSION), tool: { name, arguments: given, digest } };
}

/** What to do about a call that repeats itself. */
export function loopQuestion(agent: string, { name, arguments: given }: PendingCall, count: number): NewQuestion {
  const question = `The agent "${agent}" has called "${name}" ${count} times with the same arguments. The last call has not run. How shall it go on?`;
  return { type: "decision", question, ...ofKind(LOOP), tool: { name, arguments: given } };
}

/** Asks before a step of a stepping turn; without a call, before the model. */
export function stepQuestion(agent: string, call: PendingCall | null): NewQuestion {
  const question = `The agent "${agent}" is about to ${call ? `call "${call.name}"` : "ask its model"}. Shall it?`;
  return {
    ...{ type: "decision", question, ...ofKind(STEP) },
    ...(call ? { tool: { name: call.name, arguments: call.arguments } } : {}),
  };
}

/** Gives the caller its own calls to run. */
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

export const resultsAsAnswer = (results: ReadonlyMap<string, string>): string[] => [...results].map((pair) => JSON.stringify(pair));

export function callerResults({ value }: Pick<Answer, "value">): ReadonlyMap<string, string> {
  const pairs = Array.isArray(value) ? value : [];
  return new Map(pairs.map((pair) => JSON.parse(pair) as [string, string]));
}
