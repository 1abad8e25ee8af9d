import { type AgentRun, type AgentTurn, beginSteps, ownSteps } from "../agent-turn.ts";
import { type AppError, toAppError } from "../../errors/app-error.ts";
import { turnTakenOver } from "../../turn/outcome.ts";
import { firstChoice } from "../../models/model-choice.ts";
import type { NewStep, StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { finishedAnswer, type ResumedRun, resumedRun } from "../questions/resume.ts";
import { type Agent, givesTasks } from "../../turn/agent.ts";
import { firstHandoff } from "../team/handoff.ts";
import { doneTasks } from "../team/strategy.ts";
import { type AgentTask, type LoopSoFar, modelStep, runAgent, type RunningAgent, type RunOutcome } from "./agent-loop.ts";
import type { CalledTools } from "./run-calls.ts";

/** Stores steps that are over. `isLast`: nothing is to go on behind them. */
export async function storeSteps(turn: AgentTurn, done: readonly NewStep[], { unsent = 0, isLast = false } = {}): Promise<void> {
  if (done.length === 0) return;
  const { held, signal, progress } = turn;
  progress.steps += done.length; // before it is stored: a run beside this one takes the next numbers
  if (!isLast) return beginSteps(turn, done, { unsent });
  if (!(await retryWhileUnreachable(() => turn.steps.begin(held, done), signal))) throw turnTakenOver();
}

/** Where a run goes on, by the turn's state or by its steps alone; null: it begins. */
function whereItStood({ turn, agent, run }: RunningAgent): ResumedRun | null {
  const from = resumedRun(turn.resumed, run.task);
  if (from || !turn.resumed || ownSteps(turn, agent, run.task).length === 0) return from;
  return { answered: null, state: { pending: [], elapsedMs: 0 } };
}

/** Where the loop of a run goes on, by its own steps and the calls that ran at once. */
export function loopSoFar(agent: Agent, own: readonly StepOfMessage[], from: ResumedRun | null, ran: CalledTools | null): LoopSoFar {
  return {
    rounds: own.filter(({ kind }) => kind === "model").length,
    given: givesTasks(agent) ? doneTasks(own) : [],
    end: ran?.end ?? from?.state.end ?? null,
    mayStep: from?.state.about === "step" && from.state.pending.length === 0,
  };
}

interface HowToAnswer {
  /** Makes the task once the calls that were left have run. */
  makeTask: (ran: CalledTools | null, from: ResumedRun | null) => Promise<AgentTask>;
  /** Default: `runAgent`. */
  ask?: (running: RunningAgent, task: AgentTask) => Promise<RunOutcome>;
  /** The answer's words are sent as they come. */
  isSent: boolean;
  /** Its last step keeps the words, until the turn has ended. Default true. */
  keepsAnswer?: boolean;
}

/** Begins a run or goes on with it, to its answer, a question or a handoff. Throws AppError, or the reason of the turn's signal. */
export async function answerFromSteps(running: RunningAgent, how: HowToAnswer): Promise<RunOutcome> {
  const { turn, agent, run, calls, choices } = running;
  const own = ownSteps(turn, agent, run.task);
  const from = whereItStood(running);
  calls.note(from?.state ?? { pending: [] });
  const finished = from && finishedAnswer(from, own);
  const ran = from && !finished ? await calls.goOn(from) : null;
  const before = from && agent.handoffs.length > 0 && run.task === 0 ? firstHandoff(own) : null;
  const handed = before ?? ran?.handoff; // other calls of its answer may have waited
  if (ran?.asks || handed) return { answer: null, asks: ran?.asks ?? null, handoff: handed ? { handoff: handed, isNew: !before } : null };
  const task = await how.makeTask(ran, from);
  if (finished) {
    await task.prompt(turn.limits.of(firstChoice(choices).name)); // for its receipt
    task.onToken(finished.text);
    return { answer: finished, asks: null, handoff: null };
  }
  const outcome = await (how.ask ?? runAgent)(running, task);
  const { answer } = outcome;
  if (!answer) return outcome;
  const isKept = (how.keepsAnswer ?? true) && answer.error === null;
  calls.note({ pending: [] });
  if (isKept) await storeSteps(turn, [modelStep(running, answer, answer.text)], { unsent: how.isSent ? answer.text.length : 0 });
  else await storeSteps(turn, [modelStep(running, answer)], { isLast: true });
  return outcome;
}

const MOST_CHARACTERS = 1_000;
const cut = (text: string): string => text.slice(0, MOST_CHARACTERS).toWellFormed();

/** What came of a run. `isHanded`: another agent answers. */
export interface EndedRun {
  input: string;
  output: string;
  error: AppError | null;
  isHanded?: boolean;
}

export interface NotedRun {
  turn: Pick<AgentTurn, "steps" | "held" | "runtime" | "state">;
  agent: Pick<Agent, "name">;
  run: Pick<AgentRun, "task" | "path" | "toolCalls" | "spent">;
  elapsedMs: () => number;
}

/** Keeps that an agent worked in the conversation, for people and statistics. A failure to do so is only told. */
export async function noteRun({ turn, agent, run, elapsedMs }: NotedRun, { input, output, error, isHanded }: EndedRun): Promise<void> {
  const { steps, held, runtime, state } = turn;
  const ended = error === null ? "answered" : error.code === "turn_cancelled" ? "cancelled" : "failed";
  const { task, path, toolCalls, spent } = run;
  const note = {
    name: agent.name,
    interaction: isHanded ? "handed on" : ended,
    state: state.store ? `input: ${cut(input)} | output: ${cut(output)}` : null,
    run: { task, path: [...path], ok: error === null, toolCalls, ...spent, ms: Math.round(elapsedMs()) },
  };
  await steps.noteAgent(held, note).catch((lost: unknown) => runtime.context?.onError?.(toAppError(lost)));
}
