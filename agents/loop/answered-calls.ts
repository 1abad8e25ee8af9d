import { answerForModel, type Answer, callerResults, isAllowed } from "../questions/questions.ts";
import { notRun, ToolError, type ToolOutcome } from "../run-tool-call.ts";
import type { Ruling } from "../../stores/postgres/agents/step-store.ts";
import type { PermissionAction } from "../../turn/agent.ts";
import type { NodeEvent } from "../../turn/events.ts";
import { turnCancelled } from "../../turn/outcome.ts";
import type { NewQuestion, PendingCall, ResumedTurn } from "../../turn/resumed-turn.ts";

/** What somebody is asked about a call: before it the turn tells `before`. `about`: see WaitingState. */
export interface Asking {
  question: NewQuestion;
  about?: "loop" | "step";
  before?: NodeEvent;
}

/** A call runs as far as it can, or has its outcome without running. `ruling`: a rule said so. */
export type Ready = { run: PermissionAction; ruling?: "allow" | "allow_always" | "deny" | undefined } | { outcome: ToolOutcome };

/** What becomes of a call: or somebody is asked first (null: the caller), or would be, if somebody could be asked. */
export type Verdict = Ready | { ask: Asking | null } | { unasked: Asking };

/** What a rule decides about a call, for the audit. */
export function rulingOf(verdict: Verdict): Ruling | undefined {
  if ("unasked" in verdict) {
    const { type, question, ifUnanswered: answer } = verdict.unasked.question;
    return { type, question, answer };
  }
  return "run" in verdict && verdict.ruling ? { type: "permission", answer: verdict.ruling } : undefined;
}

/** What was looked at before a call runs, in this order: stepping, loops, permission. */
export type Passed = "step" | "loop";

/** What an answer says. */
export interface AnswerSays {
  /** About calls, by the number of their step. */
  known: ReadonlyMap<number, Ready>;
  /** How far the first call has come: the rest is looked at now. */
  passed?: Passed | undefined;
  /** Why no more tools are called. */
  end?: string | null;
  /** Steps are not stopped before any more. */
  runs?: boolean;
}

export const said = (output: string): Ready => ({ outcome: { ok: true, output, isCut: false, ms: 0 } });
export const refused = (code: string, message: string, fix: string): Ready => ({ outcome: notRun(new ToolError(code, message, fix)) });

const all = (pending: readonly PendingCall[], ready: Ready): Map<number, Ready> => new Map(pending.map(({ seq }) => [seq, ready]));

/** Of a call that is not run as no more tools are called. */
export const STOPPED: Ready = refused("stopped", "This call was not run.", "Call no more tools, and answer from what there is.");

function ofCaller(pending: readonly PendingCall[], answer: Pick<Answer, "value">): AnswerSays {
  const results = callerResults(answer);
  const none = refused("not_answered", "The caller sent no result of this call.", "Do without it, and say so.");
  return {
    known: new Map(
      pending.map(({ id, seq }) => {
        const output = results.get(id);
        return [seq, output === undefined ? none : said(output)];
      }),
    ),
  };
}

function ofPermission({ seq, name }: PendingCall, answer: Answer): AnswerSays {
  if (isAllowed(answer)) return { known: new Map([[seq, { run: "allow" }]]) };
  const inWords = answer.text === null ? "" : ` They say: ${answer.text}`;
  const why = answer.by === "timeout" ? `Nobody allowed "${name}" in time.` : `The person did not allow "${name}".${inWords}`;
  return { known: new Map([[seq, refused("permission_denied", why, "Do without it, and say so.")]]) };
}

/** What is said about a call that repeats itself. Own words alone correct it. */
export function ofLoop(pending: readonly PendingCall[], { value, text, by }: Answer): AnswerSays {
  const [first] = pending;
  if (!first) return { known: new Map() };
  const unrun = "This call was not run, as it repeats earlier ones.";
  switch (value) {
    case "continue":
      return { known: new Map(), passed: "loop" };
    case "skip":
      return { known: new Map([[first.seq, refused("skipped", `${unrun} The person skipped it.`, "Go on without it.")]]) };
    case null:
    case "correct":
      return { known: new Map([[first.seq, refused("corrected", `${unrun} The person says: ${text ?? ""}`, "Do as the person says.")]]) };
    default: {
      const who = by === "person" ? "the person stopped it" : "nobody said how to go on";
      return { known: all(pending, STOPPED), end: `The call of "${first.name}" repeated itself, and ${who}` };
    }
  }
}

/** Throws AppError `turn_cancelled` for `stop`. */
function ofStep({ value }: Answer): AnswerSays {
  if (value !== "step" && value !== "run") throw turnCancelled();
  return { known: new Map(), passed: "step", runs: value === "run" };
}

/** What the answer to a question says about the calls that wait for it. Throws AppError `question_unanswered` or `turn_cancelled`. */
export function whatAnswerSays({ answered, state }: Pick<ResumedTurn, "answered" | "state">): AnswerSays {
  const { pending, about } = state;
  const [next] = pending;
  const { asked } = answered;
  if (asked && (asked.name !== next?.name || asked.arguments !== next.arguments)) {
    const changed = refused("permission_denied", `The call is not the one that was shown.`, "Do without it, and say so.");
    return { known: all(pending, changed) };
  }
  if (about === "step") return ofStep(answered);
  if (about === "loop") return ofLoop(pending, answered);
  if (answered.question.type === "client_tool") return ofCaller(pending, answered);
  const [first] = pending;
  if (!first) return { known: new Map() };
  if (first.forms) return { known: new Map() }; // as the form says
  if (answered.question.type === "permission") return ofPermission(first, answered);
  return { known: new Map([[first.seq, said(answerForModel(answered.question, answered))]]) };
}
