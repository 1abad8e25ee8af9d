import { z } from "zod";
import type { TurnRecord } from "../../stores/postgres/turns/turn-record-store.ts";
import { Question } from "../../turn/question.ts";
import { time } from "../http/operation.ts";
import { storedOutcome } from "../turns/turn-source.ts";
import type { OwnedThread } from "./checkpoints.ts";
import { type MessageDict, storedValues, ThreadValues } from "./thread-values.ts";

/** The node that asks, and goes on when it is answered. */
export const ASKING_NODE = "generate_agent";

/** Turns of a history. */
export const MOST_STATES = 100;

export const Checkpoint = z.object({
  thread_id: z.uuid(),
  checkpoint_ns: z.literal(""),
  checkpoint_id: z.uuid().nullable().describe("The id of a turn; that of the thread before its first one. Null while there was none."),
  checkpoint_map: z.null(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

export const Interrupt = z.object({ id: z.uuid(), value: Question.describe("What the turn asks. Resume with its answer.") });
export type Interrupt = z.infer<typeof Interrupt>;

const Task = z.object({
  id: z.string(),
  name: z.string(),
  error: z.string().nullable(),
  interrupts: z.array(Interrupt),
  checkpoint: z.null(),
  state: z.null(),
  result: z.null(),
});

export const ThreadState = z.object({
  values: ThreadValues,
  next: z.array(z.string()),
  checkpoint: Checkpoint,
  metadata: z.looseObject({ step: z.int(), source: z.literal("loop"), thread_id: z.uuid(), run_id: z.uuid().nullable() }),
  created_at: time.nullable(),
  parent_checkpoint: Checkpoint.nullable(),
  tasks: z.array(Task),
  interrupts: z.array(Interrupt),
});
export type ThreadState = z.infer<typeof ThreadState>;

export const toCheckpoint = (threadId: string, turnId: string | null): Checkpoint => {
  return { thread_id: threadId, checkpoint_ns: "", checkpoint_id: turnId, checkpoint_map: null };
};

export const toInterrupt = (question: Question): Interrupt => ({ id: question.id, value: question });

/** What follows the messages of a path: a turn, a question with several answers, or the beginning. */
export interface StatePlace {
  checkpointId: string | null;
  parentId: string | null;
  step: number;
  messages: MessageDict[];
  createdAt: Date | null;
  bytes: number;
}

export function toState(
  { threadId }: OwnedThread,
  { checkpointId, messages, step, parentId, createdAt }: StatePlace,
  { record, now }: { record: TurnRecord | undefined; now: Parameters<typeof storedValues>[0]["now"] },
): ThreadState {
  const outcome = record ? storedOutcome(record) : null;
  const interrupts = record?.question ? [toInterrupt(record.question)] : [];
  const error = outcome?.error ? `${outcome.error.code}: ${outcome.error.message}` : null;
  const task = { id: checkpointId ?? threadId, name: ASKING_NODE, error, interrupts, checkpoint: null, state: null, result: null };
  return {
    values: storedValues({ messages, outcome, now }),
    next: interrupts.length > 0 ? [ASKING_NODE] : [],
    checkpoint: toCheckpoint(threadId, checkpointId),
    metadata: {
      ...(outcome ? askedOfRun(outcome).metadata : {}),
      step,
      source: "loop",
      thread_id: threadId,
      run_id: record?.id ?? null,
      ...(outcome?.agent ? { agent: outcome.agent } : {}),
    },
    created_at: createdAt?.toISOString() ?? null,
    parent_checkpoint: parentId === null ? null : toCheckpoint(threadId, parentId),
    tasks: interrupts.length > 0 || error !== null ? [task] : [],
    interrupts,
  };
}

/** The parts of a run's request that its turn keeps. */
export interface AskedOfRun {
  assistant_id?: string;
  metadata?: Record<string, unknown>;
  multitask_strategy?: string;
}

/** Empty for a turn that another API began. */
export const askedOfRun = ({ asked }: { asked?: Record<string, unknown> | null | undefined }): AskedOfRun => asked?.["langgraph"] ?? {};
