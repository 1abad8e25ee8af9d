import { remoteSource, localSource, storedSource, turnGone, type TurnSource } from "./turn-source.ts";
import { AppError } from "../../errors/app-error.ts";
import type { TurnRecord } from "../../stores/postgres/turns/turn-record-store.ts";
import type { RegisteredTurn } from "./turn-registry.ts";
import type { OwnerScope } from "../../turn/owner.ts";
import type { Config } from "../settings/config.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Turns } from "./open-turn.ts";
import { endWaiting } from "../../agents/questions/waiting-turns.ts";
import { makeTurnStore } from "../../stores/postgres/turns/turn-store.ts";

export interface TurnParts {
  config: Config;
  stores: Pick<Stores, "database" | "questions" | "turns" | "steps">;
  turns: Turns;
}

export interface FoundTurn {
  id: string;
  entry: RegisteredTurn | null;
  isRunningHere: boolean;
  /** Null while it waits in line, or when the database is unreachable while it runs here. */
  record: TurnRecord | null;
}

/** Its events. Throws AppError `turn_gone` when its outcome is no longer kept. */
export function sourceOf({ stores, turns: { registry } }: TurnParts, found: FoundTurn): TurnSource {
  assertKept(found);
  const { id, entry, isRunningHere, record } = found;
  const isDoneHere = entry?.last?.status === "done";
  if (entry && (isRunningHere || isDoneHere || !record?.outcome)) return localSource(entry.turn, !entry.isAccepted);
  if (!record) throw turnGone(id);
  if (record.isHeld && !record.question) return remoteSource(stores, record, registry.stopping);
  return storedSource(stores, record);
}

/** False when it had ended already. */
export async function cancelTurn({ config, stores }: TurnParts, { id, entry, isRunningHere, record }: FoundTurn): Promise<boolean> {
  const closed = record?.question ? await stores.questions.cancel(record, id, config.TURN_LEASE_MS) : null;
  if (closed) {
    await endWaiting(makeTurnStore(stores.database), closed);
    return true;
  }
  if (isRunningHere) entry?.turn.cancel();
  return isRunningHere || (record !== null && (await stores.turns.requestCancel(record, id)));
}

/** Throws AppError `not_found`, also for a turn of others and one that was refused. */
export async function findTurn({ stores, turns: { registry } }: TurnParts, caller: OwnerScope, given: string): Promise<FoundTurn> {
  const id = registry.findOwn(caller, given)?.redirectedTo ?? given;
  const entry = registry.findOwn(caller, id);
  const isRunningHere = entry !== null && entry.last === null;
  const record = await stores.turns.find(caller, id).catch((error: unknown) => {
    if (isRunningHere) return null;
    throw error;
  });
  // It was refused or erased, even if this process still knows it.
  if (!isRunningHere && !record) throw new AppError("not_found", `There is no turn ${id}.`);
  return { id, entry, isRunningHere, record };
}

export function assertKept({ id, isRunningHere, record }: FoundTurn): void {
  if (record?.isGone && !record.isHeld && !isRunningHere) throw turnGone(id);
}
