import { createHash } from "node:crypto";
import type { Request } from "express";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { RunningTurn } from "../../graph/start-turn.ts";
import type { Owner } from "../../stores/owner.ts";
import { type EarlierAttempt, KeyTaken, type TurnKey } from "../../turn/key.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";
import type { TurnRegistry } from "./turn-registry.ts";
import { remoteSource, localSource, storedOutcome, refusedSource, storedSource, type TurnSource } from "./turn-source.ts";
import type { ChatRequest } from "./chat-request.ts";

/** Printable ASCII without the space. */
export const KEY = /^[\x21-\x7E]{1,200}$/;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** The hash of the request's Idempotency-Key; null without one. Throws AppError `invalid_request`. */
export function hashIdempotencyKey(request: Request): string | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  if (KEY.test(key)) return sha256(key);
  throw AppError.invalid([
    { field: "Idempotency-Key", problem: "must have 1 to 200 visible ASCII characters, without spaces; a UUID will do" },
  ]);
}

/** Of the request as it was understood: spelling, order and defaults make no difference. */
export function hashBody(body: ChatRequest): string {
  return sha256(JSON.stringify(Object.entries(body).toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

/** A request that came with an Idempotency-Key. */
export interface IdempotentRequest {
  owner: Owner;
  keyHash: string;
  bodyHash: string;
  /** It waits in line for a busy conversation. */
  waits: boolean;
  start(key: TurnKey): Promise<RunningTurn>;
}

/** Finds, or starts, the one turn of each key. */
export interface IdempotentTurns {
  /** Throws AppError `idempotency_mismatch` when the key came with another request, and what refuses a turn. */
  open(request: IdempotentRequest): Promise<TurnSource>;
}

/** Looks at a key in all: another process can be faster each time, though not for long. */
const MOST_LOOKS = 5;

/** What there is of a key: a turn to tell, an attempt to repeat, or nothing (null). */
type Found = { source: TurnSource } | { earlier: EarlierAttempt } | null;

function mismatch(): AppError {
  return new AppError(
    "idempotency_mismatch",
    "This Idempotency-Key came with another request before. Send each message with a key of its own, and a retry with the same body.",
  );
}

export function makeIdempotentTurns(records: TurnRecordStore, running: TurnRegistry): IdempotentTurns {
  /** Keys whose turn is not stored yet. */
  const underWay = new Map<string, { bodyHash: string; source: Promise<TurnSource> }>();

  function toFound(record: TurnRecord): Found {
    const kept = running.find(record.id);
    if (kept && !kept.last) return { source: localSource(kept.turn, !kept.isAccepted) };
    const outcome = storedOutcome(record);
    if (!outcome && record.isHeld && !kept) return { source: remoteSource(records, record, running.stopping) };
    if (!outcome || outcome.error?.retryable) {
      return { earlier: { turnId: record.id, hadOutcome: outcome !== null, isOverHere: kept !== null } };
    }
    const isToldHere = kept?.last?.status === (outcome.error ? "error" : "done");
    return { source: kept && isToldHere ? localSource(kept.turn, false) : storedSource(record) };
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

  /** Of a turn that waits in line: when it comes to its place and finds that another has taken its key, that one is told instead. */
  function inLine(turn: RunningTurn, request: IdempotentRequest): TurnSource {
    let told: Promise<TurnSource> | undefined;
    const toTell = (): Promise<TurnSource> => {
      told ??= turn.accepted.then(
        () => localSource(turn, true),
        async (error: unknown) => {
          if (!(error instanceof KeyTaken)) return localSource(turn, true);
          const instead = await find(request).catch((refusal: unknown) => refusedSource(turn.turnId, toAppError(refusal)));
          if (instead.turnId !== turn.turnId) running.tellInstead(turn.turnId, instead.turnId);
          return instead;
        },
      );
      return told;
    };
    const accepted = toTell().then((source) => source.accepted);
    accepted.catch(() => undefined);
    return {
      turnId: turn.turnId,
      accepted,
      waits: true,
      told: toTell().then((source) => source.told),
      async *eventBatches(signal) {
        yield* (await toTell()).eventBatches(signal);
      },
      last: async (signal) => (await toTell()).last(signal),
    };
  }

  async function find(request: IdempotentRequest): Promise<TurnSource> {
    const { keyHash, bodyHash, waits } = request;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const found = await look(request);
      if (found && "source" in found) return found.source;
      const turn = await request.start({ keyHash, bodyHash, earlier: found?.earlier ?? null });
      if (waits) return inLine(turn, request);
      try {
        await turn.accepted;
        return localSource(turn, false);
      } catch (error) {
        if (!(error instanceof KeyTaken)) return localSource(turn, false); // which rejects with this error
      }
    }
    throw new KeyTaken();
  }

  return {
    open(request) {
      const { owner, keyHash, bodyHash } = request;
      const scope = JSON.stringify([owner.tenantId, owner.userId, keyHash]);
      const already = underWay.get(scope);
      if (already) {
        if (already.bodyHash !== bodyHash) return Promise.reject(mismatch());
        return already.source;
      }
      const source = find(request);
      const entry = { bodyHash, source };
      underWay.set(scope, entry);
      const forget = (): void => {
        if (underWay.get(scope) === entry) underWay.delete(scope);
      };
      // Until it has been let in: from then on what is stored under the key leads to it.
      source.then(({ accepted }) => accepted).then(forget, forget);
      return source;
    },
  };
}
