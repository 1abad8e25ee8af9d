import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Turns } from "../turns/open-turn.ts";
import { time } from "../http/operation.ts";
import { storedOutcome } from "../turns/turn-source.ts";
import type { FoundTurn } from "../turns/find-turn.ts";
import { turnState } from "../api/turns/turn-routes.ts";
import { askedOfRun } from "./thread-state.ts";
import { assistantId, GRAPH_ID } from "./assistants.ts";
import type { OwnedThread } from "./checkpoints.ts";

/** The protocol's; `timeout` does not happen here. */
export const RUN_STATUS = ["pending", "running", "success", "error", "timeout", "interrupted"] as const;

export const Run = z.object({
  run_id: z.uuid().describe("The id of a turn."),
  thread_id: z.uuid().nullable(),
  assistant_id: z.uuid(),
  created_at: time,
  updated_at: time,
  status: z.enum(RUN_STATUS).describe("A run that waits for an answer, or was cancelled, is `interrupted`."),
  metadata: z.record(z.string(), z.unknown()),
  kwargs: z.object({}),
  multitask_strategy: z.string(),
});
export type Run = z.infer<typeof Run>;

function statusOf(found: FoundTurn): Run["status"] {
  const { record, entry } = found;
  if (!record && entry?.last) return "interrupted";
  if (!record) return entry?.isAccepted ? "running" : "pending";
  if (record.isGone && !record.isHeld) return record.answerId === null ? "error" : "success";
  const state = turnState(found);
  if (state === "waiting") return "interrupted";
  if (state === "failed") return storedOutcome(record)?.error?.code === "turn_cancelled" ? "interrupted" : "error";
  return state === "done" ? "success" : state === "running" ? "running" : "error";
}

/** `threadId` null: its conversation's. */
export function toRun(found: FoundTurn, threadId: string | null): Run {
  const { id, record } = found;
  const outcome = record && storedOutcome(record);
  const { assistant_id: given, metadata = {}, multitask_strategy = "reject" } = askedOfRun(outcome ?? found.entry?.owner ?? {});
  const now = new Date();
  return {
    run_id: id,
    thread_id: threadId ?? record?.conversationId ?? null,
    assistant_id: assistantId(outcome?.agent ?? GRAPH_ID),
    created_at: (record?.startedAt ?? now).toISOString(),
    updated_at: (record?.endedAt ?? record?.startedAt ?? now).toISOString(),
    status: statusOf(found),
    metadata: { ...metadata, graph_id: GRAPH_ID, ...(given === undefined ? {} : { assistant: given }) },
    kwargs: {},
    multitask_strategy,
  };
}

export const noSuchRun = (id: string): AppError => new AppError("not_found", `There is no run ${id} in this thread.`);

/** The most questions whose turns a list by status reads. */
const MOST_LOOKED_AT = 1_000;

export function makeRuns({ stores, turns }: { stores: Pick<Stores, "turns">; turns: Turns }) {
  /** Newest first. They are not stored before they begin. */
  function waitingInLine(conversation: OwnedThread, sessionId: string): Run[] {
    const entries = turns.registry.waitingInLine({ ...conversation, sessionId });
    const runs = entries.map((entry) => toRun({ id: entry.turn.turnId, entry, isRunningHere: true, record: null }, conversation.threadId));
    return runs.toReversed();
  }

  return {
    /** Newest first, on any branch, after those that wait in line in this process. */
    async list(
      conversation: OwnedThread,
      { sessionId, limit, offset, status }: { sessionId: string; limit: number; offset: number; status: string | undefined },
    ): Promise<Run[]> {
      const waiting = waitingInLine(conversation, sessionId);
      const ids = await stores.turns.listIds(conversation, status === undefined ? limit + offset : MOST_LOOKED_AT);
      const records = new Map((await stores.turns.findAll(conversation, ids)).map((record) => [record.id, record]));
      const known = ids.map((id) => records.get(id)).filter((record) => record !== undefined);
      const runs = known.map((record) => {
        const entry = turns.registry.find(record.id);
        return toRun({ id: record.id, entry, isRunningHere: entry !== null && entry.last === null, record }, conversation.threadId);
      });
      const begun = runs.filter(({ run_id: id }) => !waiting.some((run) => run.run_id === id));
      return [...waiting, ...begun].filter((run) => status === undefined || run.status === status).slice(offset, offset + limit);
    },
  };
}
