import { AppError } from "../../errors/app-error.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import type { MessagePlace } from "../../stores/postgres/turns/branch-store.ts";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { StoredThread } from "../../stores/postgres/turns/thread-store.ts";
import type { Stores } from "../parts/open-stores.ts";

export const noSuchCheckpoint = (id: string): AppError =>
  new AppError("not_found", `There is no checkpoint ${id} in this thread. The id of a checkpoint is that of a turn.`);

interface TurnPlace extends MessagePlace {
  first: StoredMessage;
  last: StoredMessage;
  /** A question at which its answers part. */
  isQuestion: boolean;
}

/** The turn after a checkpoint on its path: its question and answer. Null: the end of the active path. */
export interface NextTurn {
  question: StoredMessage;
  answer: StoredMessage | null;
  path: string | null;
}

export type OwnedThread = OwnedConversation & { threadId: string };

/** Before the first turn. */
export const isBeginning = ({ threadId }: OwnedThread, checkpointId: string): boolean => checkpointId === threadId;

/** Checkpoints of threads: places after turns, and the beginning, whose id is the thread's. */
export function makeCheckpoints({ stores }: { stores: Pick<Stores, "branches" | "messages" | "turns"> }) {
  const { messages, branches, turns } = stores;

  /** Throws AppError `not_found`. */
  async function placeOf(conversation: OwnedConversation, turnId: string): Promise<TurnPlace> {
    const record = await turns.find(conversation, turnId);
    const ids = record ? [record.userMessageId, ...(record.answerId === null ? [] : [record.answerId])] : [turnId];
    const found = (await messages.findAll(conversation, ids)).map(({ message }) => message);
    const last = found.find(({ id }) => id === record?.answerId) ?? found[0];
    const first = found.find(({ id }) => id === record?.userMessageId) ?? last;
    const place = last && (record || last.role === "user") ? await branches.placeOf(conversation, last.id) : null;
    if (!place || !first || !last) throw noSuchCheckpoint(turnId);
    return { ...place, first, last, isQuestion: record === null };
  }

  async function nextOn(
    conversation: OwnedConversation,
    after: StoredMessage | null,
    path: string | null,
    running: string | null,
  ): Promise<NextTurn | null> {
    const { items } = await messages.list(conversation, { limit: 50, after }, "oldest_first", path);
    const at = items.findIndex(({ role, metadata }) => role === "user" && (running === null || metadata["turn_id"] !== running));
    const [question, answer] = at < 0 ? [] : [items[at], items[at + 1]];
    return question ? { question, answer: answer?.role === "assistant" ? answer : null, path } : null;
  }

  /** Where a thread goes on from a checkpoint. The running turn does not count as one after it. */
  async function nextOf(conversation: OwnedThread, checkpointId: string, running: string | null = null): Promise<NextTurn | null> {
    if (isBeginning(conversation, checkpointId)) return nextOn(conversation, null, null, running);
    const { last, isActive, path, branchId, isQuestion } = await placeOf(conversation, checkpointId);
    if (isQuestion) {
      const { items } = await messages.list(conversation, { limit: 1, after: last }, "oldest_first", isActive ? null : path);
      return { question: last, answer: items.find(({ role }) => role === "assistant") ?? null, path: isActive ? null : path };
    }
    const next = await nextOn(conversation, last, isActive ? null : path, running);
    if (!next && !isActive) await branches.activate(conversation, branchId); // the thread goes on at its end
    return next;
  }

  return {
    placeOf,
    nextOf,
    /** Whether it is before the waiting turn. Checkpoints between steps are unknown. */
    async isBefore(conversation: OwnedThread, checkpointId: string): Promise<boolean> {
      if (isBeginning(conversation, checkpointId)) return true;
      if ((await turns.findHeld(conversation)) === checkpointId) return false;
      const known = [await turns.find(conversation, checkpointId), ...(await messages.findAll(conversation, [checkpointId]))];
      return known.some((one) => one !== null);
    },
    /** Makes the state at a checkpoint the newest one: later turns leave the path. Throws AppError as `BranchStore.leave`. */
    async goBack(conversation: OwnedThread, { sessionId }: StoredThread, checkpointId: string): Promise<void> {
      const next = await nextOf(conversation, checkpointId);
      if (next) await branches.leave({ ...conversation, sessionId }, { editOf: next.question.id });
    },
    /**
     * Takes an ended turn, with all after it, off the path if it lies there and first asked its question. A turn that never began has
     * nothing there.
     */
    async takeBack(conversation: OwnedConversation, { sessionId }: StoredThread, turnId: string): Promise<void> {
      if (!(await turns.find(conversation, turnId))) return;
      const { first, isActive } = await placeOf(conversation, turnId);
      if (isActive && first.metadata["turn_id"] === turnId) await branches.leave({ ...conversation, sessionId }, { editOf: first.id });
    },
    /** The turn that holds a thread; null when it answers another turn's question again. */
    async heldTurn(conversation: OwnedConversation, turnId: string): Promise<NextTurn | null> {
      const record = await turns.find(conversation, turnId);
      const [found] = record ? await messages.findAll(conversation, [record.userMessageId]) : [];
      return found?.message.metadata["turn_id"] === turnId ? { question: found.message, answer: null, path: null } : null;
    },
  };
}

export type Checkpoints = ReturnType<typeof makeCheckpoints>;
