import { type Request, type Response, Router } from "express";
import { parseLastEventId, sendTurnStream } from "./turn-stream.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { remoteSource, localSource, storedOutcome, storedSource, turnGone, type TurnSource } from "./turn-source.ts";
import { AppError } from "../../errors/app-error.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";
import { canActFor, callerOf } from "../auth/caller.ts";
import type { RegisteredTurn, TurnRegistry } from "./turn-registry.ts";
import { parseUuid } from "../http/parse-request.ts";

export interface TurnRouteParts extends FindTurnParts {
  heartbeatMs: number;
}

export type TurnState = "running" | "done" | "failed" | "interrupted";

function stateOf({ record, isRunningHere }: FoundTurn): TurnState {
  const outcome = record && storedOutcome(record);
  if (outcome) return outcome.error ? "failed" : "done";
  return isRunningHere || record?.isHeld ? "running" : "interrupted";
}

/** A turn as clients see it; fields of its end are null, or empty, before it. */
function toTurn(found: FoundTurn) {
  const { id, record } = found;
  const outcome = record && storedOutcome(record);
  return {
    id,
    state: stateOf(found),
    conversation_id: record?.conversationId ?? null,
    message_id: record?.questionId ?? null,
    answer_message_id: record?.answerId ?? null,
    started_at: record?.startedAt ?? null,
    ended_at: record?.endedAt ?? null,
    completed: outcome?.completed ?? null,
    error: outcome?.error ?? null,
    route_decision: outcome?.route_decision ?? null,
    receipt: outcome?.receipt ?? null,
    usage: outcome?.usage ?? null,
    timings: outcome?.timings ?? null,
    degraded: outcome?.degraded ?? [],
    notices: outcome?.notices ?? [],
  };
}

/** Throws AppError `turn_gone` when what came of it is no longer kept. */
function assertKept({ id, isRunningHere, record }: FoundTurn): void {
  if (record?.isGone && !record.isHeld && !isRunningHere) throw turnGone(id);
}

/** One turn: what came of it, its events, its end. */
export function turnRoutes(parts: TurnRouteParts): Router {
  const { running, turns, heartbeatMs } = parts;

  /** Throws AppError `turn_gone` when its outcome is no longer kept. */
  function sourceOf(found: FoundTurn): TurnSource {
    assertKept(found);
    const { id, kept, isRunningHere, record } = found;
    const isDoneHere = kept?.last?.status === "done";
    if (kept && (isRunningHere || isDoneHere || !record?.outcome)) return localSource(kept.turn, !kept.isAccepted);
    if (!record) throw turnGone(id);
    if (record.isHeld) return remoteSource(turns, record, running.stopping);
    return storedSource(record);
  }

  return Router()
    .get("/turns/:id", async (request, response) => {
      const found = await findTurn(parts, request, response);
      assertKept(found);
      response.json(toTurn(found));
    })
    .get("/turns/:id/stream", async (request, response) => {
      const after = parseLastEventId(request.get("last-event-id"));
      const found = await findTurn(parts, request, response);
      const source = sourceOf(found);
      running.attach(found.id, response, { cancels: false });
      const batches = source.eventBatches(abortSignalOnClose(response));
      await sendTurnStream(response, batches, { turnId: found.id, told: source.told, heartbeatMs, headersAtOnce: true, after });
    })
    .post("/turns/:id/cancel", async (request, response) => {
      const found = await findTurn(parts, request, response);
      const { id, kept, isRunningHere, record } = found;
      if (isRunningHere) kept?.turn.cancel();
      const cancelled = isRunningHere || (record !== null && (await turns.requestCancel(record, id)));
      response.json({ turn_id: id, cancelled });
    });
}

export interface FindTurnParts {
  running: TurnRegistry;
  turns: TurnRecordStore;
}

/** What is known of a turn: by this process, that runs or ran it, and by the database. */
export interface FoundTurn {
  id: string;
  kept: RegisteredTurn | null;
  isRunningHere: boolean;
  /** Null while it waits in line, or when the database is away while it runs here. */
  record: TurnRecord | null;
}

/**
 * The turn in a request's path. Throws AppError `invalid_request` for what is no UUID, `not_found` for one of another tenant or user too, and
 * for one that was refused.
 */
export async function findTurn({ running, turns }: FindTurnParts, request: Request, response: Response): Promise<FoundTurn> {
  const given = parseUuid("turn id", request.params["id"]);
  const caller = callerOf(response);
  const keptOfCaller = (turnId: string): RegisteredTurn | null => {
    const found = running.find(turnId);
    return found && found.owner.tenantId === caller.tenantId && canActFor(caller, found.owner.userId) ? found : null;
  };
  const id = keptOfCaller(given)?.instead ?? given;
  const kept = keptOfCaller(id);
  const isRunningHere = kept !== null && kept.last === null;
  const record = await turns.find(caller, id).catch((error: unknown) => {
    if (isRunningHere) return null;
    throw error;
  });
  // What has ended and is in no row was refused, or erased, however much of it is still in memory.
  if (!isRunningHere && !record) throw new AppError("not_found", `There is no turn ${id}.`);
  return { id, kept, isRunningHere, record };
}
