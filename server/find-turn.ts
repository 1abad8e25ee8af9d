import type { Request, Response } from "express";
import { AppError } from "../errors/app-error.ts";
import type { TurnRecord, TurnRecordStore } from "../stores/postgres/turn-record-store.ts";
import { actsFor, callerOf } from "./caller.ts";
import type { KeptTurn } from "./kept-turns.ts";
import { parseUuid } from "./request-fields.ts";
import type { RunningTurns } from "./running-turns.ts";

export interface FindTurnParts {
  running: RunningTurns;
  turns: TurnRecordStore;
}

/** What is known of a turn: by this process, that runs or ran it, and by the database. */
export interface FoundTurn {
  id: string;
  kept: KeptTurn | null;
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
  const keptOfCaller = (turnId: string): KeptTurn | null => {
    const found = running.find(turnId);
    return found && found.owner.tenantId === caller.tenantId && actsFor(caller, found.owner.userId) ? found : null;
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
