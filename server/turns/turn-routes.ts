import { type Request, type Response, Router } from "express";
import { parseLastEventId, sendTurnStream } from "./turn-stream.ts";
import { remoteSource, localSource, storedOutcome, storedSource, turnGone, type TurnSource } from "./turn-source.ts";
import { AppError } from "../../errors/app-error.ts";
import type { TurnRecord } from "../../stores/postgres/conversations/turn-record-store.ts";
import { canActFor, callerOf } from "../auth/caller.ts";
import type { RegisteredTurn } from "./turn-registry.ts";
import type { Turns } from "./open-turn.ts";
import type { Stores } from "../start/open-stores.ts";
import { parseUuid } from "../http/parse-request.ts";

export interface TurnRouteParts {
  stores: Stores;
  turns: Turns;
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

/** Throws AppError `turn_gone` when its outcome is no longer kept. */
function assertKept({ id, isRunningHere, record }: FoundTurn): void {
  if (record?.isGone && !record.isHeld && !isRunningHere) throw turnGone(id);
}

/** One turn: its outcome, its events, cancelling it. */
export function turnRoutes(parts: TurnRouteParts): Router {
  const { stores, heartbeatMs } = parts;
  const { registry } = parts.turns;

  /** Throws AppError `turn_gone` when its outcome is no longer kept. */
  function sourceOf(found: FoundTurn): TurnSource {
    assertKept(found);
    const { id, entry, isRunningHere, record } = found;
    const isDoneHere = entry?.last?.status === "done";
    if (entry && (isRunningHere || isDoneHere || !record?.outcome)) return localSource(entry.turn, !entry.isAccepted);
    if (!record) throw turnGone(id);
    if (record.isHeld) return remoteSource(stores.turns, record, registry.stopping);
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
      registry.attach(found.id, response, { cancels: false });
      await sendTurnStream(response, source, { turnId: found.id, heartbeatMs, flushHeaders: true, after });
    })
    .post("/turns/:id/cancel", async (request, response) => {
      const found = await findTurn(parts, request, response);
      const { id, entry, isRunningHere, record } = found;
      if (isRunningHere) entry?.turn.cancel();
      const cancelled = isRunningHere || (record !== null && (await stores.turns.requestCancel(record, id)));
      response.json({ turn_id: id, cancelled });
    });
}

/** What this process and the database know of a turn. */
interface FoundTurn {
  id: string;
  entry: RegisteredTurn | null;
  isRunningHere: boolean;
  /** Null while it waits in line, or when the database is away while it runs here. */
  record: TurnRecord | null;
}

/**
 * The turn in a request's path. Throws AppError `invalid_request` for what is no UUID, `not_found` for one of another tenant or user too, and
 * for one that was refused.
 */
async function findTurn({ stores, turns: { registry } }: TurnRouteParts, request: Request, response: Response): Promise<FoundTurn> {
  const given = parseUuid("turn id", request.params["id"]);
  const caller = callerOf(response);
  const findOwn = (turnId: string): RegisteredTurn | null => {
    const found = registry.find(turnId);
    return found && found.owner.tenantId === caller.tenantId && canActFor(caller, found.owner.userId) ? found : null;
  };
  const id = findOwn(given)?.redirectedTo ?? given;
  const entry = findOwn(id);
  const isRunningHere = entry !== null && entry.last === null;
  const record = await stores.turns.find(caller, id).catch((error: unknown) => {
    if (isRunningHere) return null;
    throw error;
  });
  // A turn that has ended and has no row was refused or erased, even if this process still knows it.
  if (!isRunningHere && !record) throw new AppError("not_found", `There is no turn ${id}.`);
  return { id, entry, isRunningHere, record };
}
