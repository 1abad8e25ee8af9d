import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { TurnRecord } from "../../stores/postgres/conversations/turn-record-store.ts";
import type { OwnedConversation } from "../../stores/owner.ts";
import { Question } from "../../turn/question.ts";
import type { AppParts } from "../http/app-parts.ts";
import { time } from "../http/openapi/operation.ts";
import { storedOutcome } from "../turns/turn-source.ts";
import { type Checkpoints, isBeginning, noSuchCheckpoint } from "./checkpoints.ts";
import { askedOfRun } from "./asked-of-run.ts";
import { MOST_MESSAGES, storedValues, ThreadValues } from "./thread-values.ts";

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

/** A question as LangGraph's clients know it. */
export const toInterrupt = (question: Question): Interrupt => ({ id: question.id, value: question });

function turnOf({ metadata: { turn_id: id } }: StoredMessage): string | null {
  return typeof id === "string" ? id : null;
}

interface TurnEnd {
  turnId: string | null;
  /** How many messages there are then. */
  end: number;
}

/**
 * Where turns end in messages, oldest first. A question belongs to the turn whose answer follows, also when another turn asked it first. What was
 * imported behind the last turn is part of the newest state.
 */
function turnEnds(messages: readonly StoredMessage[]): TurnEnd[] {
  const ends: TurnEnd[] = [];
  for (const [index, message] of messages.entries()) {
    const turnId = turnOf(message);
    const last = ends.at(-1);
    const isAnswered = message.role === "assistant" && messages[index - 1]?.role === "user" && last?.end === index;
    if (turnId !== null && last && (last.turnId === turnId || isAnswered)) Object.assign(last, { turnId, end: index + 1 });
    else if (turnId !== null) ends.push({ turnId, end: index + 1 });
  }
  const last = ends.at(-1);
  if (last) last.end = messages.length;
  return ends;
}

interface ReadStates {
  limit: number;
  /** The state after this turn and those before it; null: from the newest on. */
  from?: string | null;
  /** Only states before this turn's. */
  before?: string | null;
  /** Only states whose metadata holds this, among the newest MOST_STATES. */
  metadata?: Record<string, unknown>;
}

/** States of threads, read from conversations and turns. */
export function makeThreadStates({ stores, checkpoints }: Pick<AppParts, "stores"> & { checkpoints: Checkpoints }) {
  const { messages, turns, summaries, coreMemory } = stores;

  /** The newest messages of the active path, or those before or through a checkpoint on its own path; oldest first. */
  async function pageOf(conversation: OwnedConversation, { limit, from, before }: ReadStates) {
    const most = MOST_MESSAGES + 3 * (limit + 1);
    const anchor = from ?? before ?? null;
    const place = anchor === null ? null : await checkpoints.placeOf(conversation, anchor);
    const page = { limit: most, after: before && !from ? (place?.first ?? null) : null };
    const { items, next } = await messages.list(conversation, page, "newest_first", place?.through ?? null);
    return { all: items.toReversed(), isWhole: next === null };
  }

  function toState(
    conversation: OwnedConversation,
    { turnId, shown, step, parentId }: { turnId: string | null; shown: readonly StoredMessage[]; step: number; parentId: string | null },
    { record, now }: { record: TurnRecord | undefined; now: Parameters<typeof storedValues>[0]["now"] },
  ): ThreadState {
    const { conversationId: threadId } = conversation;
    const outcome = record ? storedOutcome(record) : null;
    const interrupts = record?.question ? [toInterrupt(record.question)] : [];
    const error = outcome?.error ? `${outcome.error.code}: ${outcome.error.message}` : null;
    const task = { id: turnId ?? threadId, name: ASKING_NODE, error, interrupts, checkpoint: null, state: null, result: null };
    return {
      values: storedValues({ messages: shown, outcome, now }),
      next: interrupts.length > 0 ? [ASKING_NODE] : [],
      checkpoint: toCheckpoint(threadId, turnId),
      metadata: {
        ...(outcome ? askedOfRun(outcome).metadata : {}),
        step,
        source: "loop",
        thread_id: threadId,
        run_id: turnId === threadId ? null : turnId,
        ...(outcome?.agent ? { agent: outcome.agent } : {}),
      },
      created_at: (shown.at(-1)?.createdAt ?? null)?.toISOString() ?? null,
      parent_checkpoint: parentId === null ? null : toCheckpoint(threadId, parentId),
      tasks: interrupts.length > 0 || error !== null ? [task] : [],
      interrupts,
    };
  }

  /** Before everything: an edit of the first question goes on from there. */
  const toBeginning = (conversation: OwnedConversation): ThreadState =>
    toState(conversation, { turnId: conversation.conversationId, shown: [], step: -1, parentId: null }, { record: undefined, now: null });

  /** The newest first. A thread without turns has one state, which has no checkpoint. */
  async function list(conversation: OwnedConversation, given: ReadStates): Promise<ThreadState[]> {
    const isNewest = !given.from && !given.before;
    const filter = Object.entries(given.metadata ?? {});
    const asked = filter.length > 0 ? { ...given, limit: MOST_STATES } : given;
    if (asked.from && isBeginning(conversation, asked.from)) return [toBeginning(conversation)];
    if (asked.before && isBeginning(conversation, asked.before)) return [];
    const [{ all, isWhole }, summary, core] = await Promise.all([
      pageOf(conversation, asked),
      isNewest ? summaries.find(conversation) : null,
      isNewest ? coreMemory.load(conversation) : null,
    ]);
    const now = core && { summary, sections: core.sections };
    const ends = turnEnds(all);
    if (ends.length === 0) {
      if (!isNewest) return [];
      return [
        toState(conversation, { turnId: null, shown: all.slice(-MOST_MESSAGES), step: -1, parentId: null }, { record: undefined, now }),
      ];
    }
    const wanted = ends.toReversed().slice(0, asked.limit);
    const ids = wanted.flatMap(({ turnId }) => turnId ?? []);
    const records = new Map((await turns.findAll(conversation, ids)).map((record) => [record.id, record]));
    const states = wanted.map(({ turnId, end }, index) => {
      const place = ends.length - 1 - index;
      const shown = all.slice(Math.max(0, end - MOST_MESSAGES), end);
      const parentId = ends[place - 1]?.turnId ?? (isWhole ? conversation.conversationId : null);
      const of = { turnId, shown, step: place, parentId };
      return toState(conversation, of, { record: records.get(turnId ?? ""), now: isNewest && index === 0 ? now : null });
    });
    const holds = ({ metadata }: ThreadState) => filter.every(([name, value]) => isDeepStrictEqual(metadata[name], value));
    return states.filter(holds).slice(0, given.limit);
  }

  return {
    /** As a history: nothing of a thread in which nothing was said. */
    async list(conversation: OwnedConversation, asked: ReadStates): Promise<ThreadState[]> {
      const states = await list(conversation, asked);
      return states.filter(({ checkpoint, values }) => checkpoint.checkpoint_id !== null || (values.messages ?? []).length > 0);
    },
    /** The newest, or that after a turn. Throws AppError `not_found`. */
    async read(conversation: OwnedConversation, turnId: string | null = null): Promise<ThreadState> {
      const [state] = await list(conversation, { limit: 1, from: turnId });
      if (!state || (turnId !== null && state.checkpoint.checkpoint_id !== turnId)) throw noSuchCheckpoint(turnId ?? "");
      return state;
    },
  };
}
