import type { ToolHooks } from "../run-tool-call.ts";
import type { Sight } from "../../models/facts/sight.ts";
import type { PromptLimits } from "../../models/facts/prompt-limits.ts";
import type { ModelChoice } from "../../models/model-choice.ts";
import type { AnswerTimeouts } from "../../turn/deadlines.ts";
import type { Observer } from "../../observe/observer.ts";
import type { PermissionStore } from "../../stores/postgres/agents/permission-store.ts";
import type { QuestionStore } from "../../stores/postgres/agents/question-store.ts";
import type { StepOfMessage, StepStore } from "../../stores/postgres/agents/step-store.ts";
import type { HeldTurn } from "../../stores/postgres/turns/recover-turn.ts";
import type { Agent } from "../../turn/agent.ts";
import type { TurnRuntime } from "../../turn/context.ts";
import type { WaitingState } from "../../turn/resumed-turn.ts";
import type { StepKind } from "../../turn/state.ts";
import type { AgentProgress } from "./agent-progress.ts";

/** What all agents of one turn share. */
export interface AgentTurn {
  held: HeldTurn;
  messageId: string;
  runtime: TurnRuntime;
  signal: AbortSignal;
  choicesOf: (agent: Agent) => readonly ModelChoice[];
  steps: StepStore;
  questions: Pick<QuestionStore, "ask">;
  permissions: Pick<PermissionStore, "ofAgent">;
  hooks: ToolHooks;
  timeouts: AnswerTimeouts;
  limits: PromptLimits;
  sight: Sight;
  toolTimeoutMs: number;
  observer: Observer;
  /** Of earlier attempts at this message, and of this turn before its question. */
  earlier: readonly StepOfMessage[];
  progress: AgentProgress;
  /** Somebody can be asked. A subagent asks nobody: its turn cannot wait in the middle of a call. */
  interactive: boolean;
  /** Of a turn that is stepped through; null: before all. */
  stopsBefore: readonly StepKind[] | null;
  /** Of a turn that is stepped through: its model may be asked once without another question. */
  mayStep: boolean;
  /** What the turn needs to go on, but for what it has done. */
  toResume: (agent: Agent) => Pick<WaitingState, "given" | "routeDecision" | "leg">;
}

/** Whether somebody is asked before a step of this kind. */
export const isStoppedBefore = (
  { progress, interactive, stopsBefore }: Pick<AgentTurn, "progress" | "interactive" | "stopsBefore">,
  kind: StepKind,
): boolean => progress.isStepping === true && interactive && (stopsBefore?.includes(kind) ?? true);
