import { AppError } from "../../errors/app-error.ts";
import type { RunAnswer } from "../agent-turn.ts";
import type { Step } from "../../stores/postgres/agents/step-store.ts";
import { turnCancelled } from "../../turn/outcome.ts";
import type { Question } from "../../turn/question.ts";
import { type Answered, type PendingCall, type ResumedTurn, type RunState, runStateOf } from "../../turn/resumed-turn.ts";
import { saysNo } from "../tools/ask-person.ts";
import { withAnswer } from "./elicitation.ts";
import type { Passed } from "./permissions.ts";
import { type Answer, callerResults, type Ready, refused, said, STOPPED } from "./questions.ts";

export interface AnswerSays {
  /** The verdicts by the calls' step numbers. */
  known: ReadonlyMap<number, Ready>;
  /** The last check that the first call has passed; the rest is checked now. */
  passed?: Passed | undefined;
  end?: string | null;
  /** Steps no longer stop. */
  runs?: boolean;
}

const isAllowed = ({ value }: Pick<Answer, "value">): boolean => value === "allow_once" || value === "allow_always";

const quoted = (labels: readonly string[]): string => labels.map((label) => `"${label}"`).join(", ");

function withoutAnswer({ options }: Pick<Question, "options">, labels: readonly string[], by: Answer["by"]): string {
  const nobody = by === "rule" ? "Nobody can be asked." : "Nobody answered in time.";
  const [first] = labels;
  if (first === undefined) return `${nobody} Do what is most likely meant and easily undone, and say in your answer what you assumed.`;
  const isRecommended = options.some(({ label, is_recommended }) => is_recommended && labels.includes(label));
  if (saysNo(first) || !isRecommended) return `${nobody} That counts as "no": do not do it, and say so in your answer.`;
  return `${nobody} What you recommended counts: ${quoted(labels)}. Say so in your answer.`;
}

/** The answer to a question, as the model reads it. Throws AppError `question_unanswered` when a required one is missing. */
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

const all = (pending: readonly PendingCall[], ready: Ready): Map<number, Ready> => new Map(pending.map(({ seq }) => [seq, ready]));

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

/** The decision about a repeated call. Own words alone correct it. */
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

/** The answer's decision about the waiting calls. Throws AppError `question_unanswered` or `turn_cancelled`. */
function whatAnswerSays(answered: Answered, state: Pick<RunState, "pending" | "about">): AnswerSays {
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
  if (about === "rule" && isAllowed(answered)) return { known: new Map(), passed: "rule" };
  if (answered.question.type === "permission") return ofPermission(first, answered);
  return { known: new Map([[first.seq, said(answerForModel(answered.question, answered))]]) };
}

export interface ResumedCalls extends AnswerSays {
  calls: PendingCall[];
  /** Earlier calls no longer count as repeated. */
  loopsFrom: number | undefined;
}

/** A run that goes on: that of the agent that answers, or of a member. `answered`: its own question. */
export interface ResumedRun {
  answered: Answered | null;
  state: RunState;
}

/** Where the run of a task (0: of the agent that answers) goes on; null: it begins. */
export function resumedRun(resumed: ResumedTurn | undefined, task: number): ResumedRun | null {
  const state = resumed && runStateOf(resumed.state, task);
  return state ? { state, answered: (resumed.state.asks ?? 0) === task ? resumed.answered : null } : null;
}

/** The calls that were cut off, as the model made them, by these steps of the turn. A call that may have run is left alone where nobody can be asked. */
const cutOff = (steps: readonly Step[], mayRunAgain: (name: string) => boolean): PendingCall[] =>
  steps
    .filter(({ kind, name, endedAt }) => kind === "tool" && endedAt === null && mayRunAgain(name))
    .map(({ seq, callId, name, arguments: given }) => ({ seq, id: callId ?? "", name, arguments: JSON.stringify(given ?? {}) }));

interface HowToResume {
  mayRunAgain: (name: string) => boolean;
  /** A call gives a task. */
  goesOn: (name: string) => boolean;
  /** The member of a task has begun: nobody judges the task again. */
  hasBegun: (seq: number) => boolean;
}

/**
 * Resumes the calls that waited for an answer, those whose members were at work, and after its process died those that it left, by the
 * run's `steps`. Throws AppError `question_unanswered` or `turn_cancelled`.
 */
export function resumeCalls(
  { answered, state }: ResumedRun,
  steps: readonly Step[],
  { mayRunAgain, goesOn, hasBegun }: HowToResume,
): ResumedCalls {
  const waiting = new Set(state.pending.map(({ seq }) => seq));
  const left = cutOff(steps, answered ? goesOn : mayRunAgain).filter(({ seq }) => !waiting.has(seq));
  const allowed: AnswerSays["known"] = new Map(
    left.filter(({ name, seq }) => goesOn(name) && hasBegun(seq)).map(({ seq }) => [seq, { run: "allow" }]),
  );
  if (!answered) return { known: allowed, calls: [...left, ...state.pending], loopsFrom: undefined, end: state.end ?? null };
  const says = whatAnswerSays(answered, state);
  const [first] = state.pending;
  return {
    ...says,
    known: new Map([...allowed, ...says.known]),
    calls: [...withAnswer(state.pending, answered), ...left], // `passed` is about the first
    loopsFrom: says.passed === "loop" ? first?.seq : undefined,
  };
}

/** The answer that a run had finished. */
export function finishedAnswer({ answered, state: { pending } }: ResumedRun, steps: readonly Step[]): RunAnswer | null {
  const last = steps.at(-1);
  if (answered || pending.length > 0 || last?.kind !== "model" || last.output === null) return null;
  return { text: last.output, toolCalls: [], usage: undefined, error: null, cut: null, answeredBy: last.name, ms: 0 };
}
