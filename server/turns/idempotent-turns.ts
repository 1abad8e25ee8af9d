import { createHash } from "node:crypto";
import type { Request } from "express";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { RunningTurn } from "../../graph/start-turn.ts";
import type { Owner } from "../../turn/owner.ts";
import { type EarlierAttempt, KeyTaken, type TurnKey } from "../../turn/context.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/turns/turn-record-store.ts";
import type { TurnRegistry } from "./turn-registry.ts";
import { localSource, refusedSource, remoteSource, type StoredTurns, storedOutcome, storedSource, type TurnSource } from "./turn-source.ts";
import { IDEMPOTENCY_KEY } from "../http/headers.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** Null without a key. Throws AppError `invalid_request`. */
export function hashIdempotencyKey(request: Request): string | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  if (IDEMPOTENCY_KEY.test(key)) return sha256(key);
  throw AppError.invalid([
    { field: "Idempotency-Key", problem: "must have 1 to 200 visible ASCII characters, without spaces; a UUID will do" },
  ]);
}

/** Order and defaults make no difference. */
export function hashBody(body: object): string {
  const given = Object.entries(body).filter(([, value]) => value !== undefined);
  return sha256(JSON.stringify(given.toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

interface IdempotentRequest {
  owner: Owner;
  keyHash: string;
  bodyHash: string;
  waits: boolean;
  start(key: TurnKey): Promise<RunningTurn>;
}

/** Another process can be faster, though not for long. */
const MAX_LOOKS = 5;

/** Events to send, an attempt to repeat, or null. */
type Found = { source: TurnSource } | { earlier: EarlierAttempt } | null;

function mismatch(): AppError {
  return new AppError(
    "idempotency_mismatch",
    "This Idempotency-Key was used for another request. Use a new key for each message, and the same body for a retry.",
  );
}

/**
 * Finds or starts the one turn of each key. The returned function throws AppError `idempotency_mismatch` for another body, and what `start`
 * throws.
 */
export function makeOpenIdempotent(
  stored: StoredTurns & { turns: TurnRecordStore },
  registry: TurnRegistry,
): (request: IdempotentRequest) => Promise<TurnSource> {
  const { turns: records } = stored;
  /** Turns that are not stored yet. */
  const opening = new Map<string, { bodyHash: string; source: Promise<TurnSource> }>();

  function toFound(record: TurnRecord): Found {
    if (record.question) return { source: storedSource(stored, record) };
    const entry = registry.find(record.id);
    if (entry && !entry.last) return { source: localSource(entry.turn, !entry.isAccepted) };
    const outcome = storedOutcome(record);
    if (!outcome && record.isHeld && !entry) return { source: remoteSource(stored, record, registry.stopping) };
    if (!outcome || outcome.error?.retryable) {
      return { earlier: { turnId: record.id, hadOutcome: outcome !== null, isOverHere: entry !== null } };
    }
    const hasEventsHere = entry?.last?.status === (outcome.error ? "error" : "done");
    return { source: entry && hasEventsHere ? localSource(entry.turn, false) : storedSource(stored, record) };
  }

  async function look({ owner, keyHash, bodyHash }: IdempotentRequest): Promise<Found> {
    const record = await records.findByKey(owner, keyHash);
    if (!record) return null;
    if (record.isGone && !record.isHeld) {
      await records.clear(owner, record.id);
      return null;
    }
    if (record.bodyHash !== bodyHash) throw mismatch();
    return toFound(record);
  }

  /** If another turn takes the key first, sends that turn's events. */
  function queuedSource(turn: RunningTurn, request: IdempotentRequest): TurnSource {
    let answering: Promise<TurnSource> | undefined;
    const findAnswering = (): Promise<TurnSource> => {
      answering ??= turn.accepted.then(
        () => localSource(turn, true),
        async (error: unknown) => {
          if (!(error instanceof KeyTaken)) return localSource(turn, true);
          const other = await find(request).catch((refusal: unknown) => refusedSource(turn.turnId, toAppError(refusal)));
          if (other.turnId !== turn.turnId) registry.redirect(turn.turnId, other.turnId);
          return other;
        },
      );
      return answering;
    };
    const accepted = findAnswering().then((source) => source.accepted);
    accepted.catch(() => undefined);
    return {
      turnId: turn.turnId,
      accepted,
      waits: true,
      streamedTurnId: findAnswering().then(({ streamedTurnId, turnId }) => streamedTurnId ?? turnId),
      async *eventBatches(signal) {
        yield* (await findAnswering()).eventBatches(signal);
      },
      last: async (signal) => (await findAnswering()).last(signal),
    };
  }

  async function find(request: IdempotentRequest): Promise<TurnSource> {
    const { keyHash, bodyHash, waits } = request;
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const found = await look(request);
      if (found && "source" in found) return found.source;
      const turn = await request.start({ keyHash, bodyHash, earlier: found?.earlier ?? null });
      if (waits) return queuedSource(turn, request);
      try {
        await turn.accepted;
        return localSource(turn, false);
      } catch (error) {
        if (!(error instanceof KeyTaken)) return localSource(turn, false);
      }
    }
    throw new KeyTaken();
  }

  return function openIdempotent(request) {
    const { owner, keyHash, bodyHash } = request;
    const scope = JSON.stringify([owner.tenantId, owner.userId, keyHash]);
    const already = opening.get(scope);
    if (already) return already.bodyHash === bodyHash ? already.source : Promise.reject(mismatch());
    const source = find(request);
    const entry = { bodyHash, source };
    opening.set(scope, entry);
    const forget = (): void => {
      if (opening.get(scope) === entry) opening.delete(scope);
    };
    // From then on its row leads to it.
    source.then(({ accepted }) => accepted).then(forget, forget);
    return source;
  };
}
