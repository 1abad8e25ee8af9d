import { type AppError, toAppError } from "../../errors/app-error.ts";
import type { Agent } from "../../turn/agent.ts";
import type { AgentTurn } from "../agent-turn.ts";
import type { AgentRun } from "../team/agent-run.ts";

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
