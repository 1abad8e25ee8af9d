import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { Owner, OwnerScope } from "../../turn/owner.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import { canActFor, type Caller } from "../auth/caller.ts";
import { z } from "zod";
import { Layer } from "../../turn/state.ts";
import { type Sent, time } from "../http/operation.ts";

/** For cancelled turns, in milliseconds. */
const LAST_WRITES_MS = 5_000;

/** A turn's owner, and the input that is told before anything is stored. */
type TurnSession = Owner & { sessionId: string } & Pick<TurnInput, "asked" | "store">;

export interface RegisteredTurn {
  owner: TurnSession;
  turn: RunningTurn;
  /** It has held its conversation. */
  isAccepted: boolean;
  /** Null while it runs. */
  last: LastEvent | null;
  /** Clients that read its events or wait for its end. */
  readers: number;
  /** The turn that answers instead: this one found its Idempotency-Key taken. */
  redirectedTo: string | null;
}

/** Limits of ended turns. Later ones are answered from their stored outcome. */
export interface RegistryLimits {
  /** After the end. */
  keptMs: number;
  turns: number;
  /** Estimated. */
  bytes: number;
}

const DEFAULT_LIMITS: RegistryLimits = { keptMs: 60_000, turns: 1_000, bytes: 32 * 1024 * 1024 };

/** Beside its text. */
const BYTES_PER_EVENT = 150;

async function estimateBytes(turn: RunningTurn): Promise<number> {
  let bytes = 0;
  for await (const { status, content } of turn.events()) {
    if (status === "token") bytes += 2 * content.length;
    if (status === "done") bytes += 2 * content.answer.length + BYTES_PER_EVENT * 10;
    bytes += BYTES_PER_EVENT;
  }
  return bytes;
}

export type TurnRegistry = ReturnType<typeof makeTurnRegistry>;

/** Keeps all running turns, and ended ones for a while. */
export function makeTurnRegistry(limits: RegistryLimits = DEFAULT_LIMITS) {
  const turns = new Map<string, RegisteredTurn>();
  /** In the order of their ends. */
  const endedBytes = new Map<string, number>();
  let allBytes = 0;
  const stop = new AbortController();
  const stopping: AbortSignal = stop.signal;

  const running = (): RunningTurn[] => [...turns.values()].filter(({ last }) => last === null).map(({ turn }) => turn);
  const allEnded = (): Promise<unknown> => Promise.all(running().map(({ ended }) => ended));
  const shuttingDown = (): AppError => new AppError("shutting_down", "The service is stopping. Send the message again in a few seconds.");

  function forget(turnId: string): void {
    allBytes -= endedBytes.get(turnId) ?? 0;
    endedBytes.delete(turnId);
    turns.delete(turnId);
  }

  async function keepUntilForgotten(entry: RegisteredTurn): Promise<void> {
    const { turnId, ended } = entry.turn;
    entry.last = await ended;
    if (entry.last.status === "waiting") {
      if (turns.get(turnId) === entry) forget(turnId); // it may have gone on already
      return;
    }
    const bytes = await estimateBytes(entry.turn);
    endedBytes.set(turnId, bytes);
    allBytes += bytes;
    setTimeout(() => forget(turnId), limits.keptMs).unref();
    for (const oldest of endedBytes.keys()) {
      if (endedBytes.size <= limits.turns && allBytes <= limits.bytes) return;
      forget(oldest);
    }
  }

  /** Null: unknown, or of others. */
  function findOwn(caller: OwnerScope, turnId: string): RegisteredTurn | null {
    const found = turns.get(turnId);
    return found && found.owner.tenantId === caller.tenantId && canActFor(caller, found.owner.userId) ? found : null;
  }

  return {
    /** Throws AppError `shutting_down`. */
    assertOpen(): void {
      if (stopping.aborted) throw shuttingDown();
    },
    add(turn: RunningTurn, owner: TurnSession): void {
      const entry: RegisteredTurn = { owner, turn, isAccepted: false, last: null, readers: 0, redirectedTo: null };
      turns.set(turn.turnId, entry);
      turn.accepted.then(
        () => (entry.isAccepted = true),
        () => undefined,
      );
      void keepUntilForgotten(entry);
    },
    find: (turnId: string): RegisteredTurn | null => turns.get(turnId) ?? null,
    findOwn,
    /** The turns that wait in line for a session's conversation in this process, oldest first. */
    waitingInLine: ({ tenantId, userId, sessionId }: TurnSession): RegisteredTurn[] =>
      [...turns.values()].filter(({ owner, isAccepted, last }) => {
        const isOfSession = owner.tenantId === tenantId && owner.userId === userId && owner.sessionId === sessionId;
        return isOfSession && !isAccepted && last === null;
      }),
    redirect(turnId: string, to: string): void {
      const entry = turns.get(turnId);
      if (entry) entry.redirectedTo = to;
    },
    /** `cancels`: the turn stops when the last reader leaves. */
    attach(turnId: string, response: ServerResponse, { cancels }: { cancels: boolean }): void {
      const entry = turns.get(turnId);
      if (!entry) return;
      entry.readers++;
      const leave = (): void => {
        entry.readers--;
        if (!cancels || response.writableFinished || entry.readers > 0) return;
        entry.turn.cancel(new AppError("turn_cancelled", "The client left before the end of the answer."));
      };
      // The request of a POST closes as soon as its body is read.
      if (response.closed)
        setImmediate(leave); // after others that attach now
      else response.once("close", leave);
    },
    /** Its reason is AppError `shutting_down`. */
    stopping,
    /** Cancels after `graceMs` what still runs. */
    async drain(graceMs: number): Promise<void> {
      stop.abort(shuttingDown());
      await Promise.race([allEnded(), sleep(graceMs, undefined, { ref: false })]);
      for (const turn of running()) turn.cancel(shuttingDown());
      await Promise.race([allEnded(), sleep(LAST_WRITES_MS, undefined, { ref: false })]);
    },
  };
}

const MAX_TURNS = 200;

export const RecentTurn = z.object({
  at: time,
  total_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  degraded: z.array(Layer),
  code: z.string().nullable().describe("Why it failed."),
});

/** In milliseconds. */
export type RecentTurn = Sent<z.output<typeof RecentTurn>>;

function isShown({ tenantId, userId }: Owner, caller: Caller): boolean {
  return caller.everyTenant || (tenantId === caller.tenantId && canActFor(caller, userId));
}

/** For people without a metrics database. */
export function makeRecentTurns() {
  const turns: { owner: Owner; turn: RecentTurn }[] = [];
  return {
    add({ tenantId, userId }: Owner, { status, content }: Exclude<LastEvent, { status: "waiting" }>): void {
      const measured =
        status === "error"
          ? { total_ms: null, first_token_ms: null, degraded: [], code: content.code }
          : { total_ms: content.timings.total_ms, first_token_ms: content.timings.first_token_ms, degraded: content.degraded, code: null };
      const turn = { at: new Date(), ...measured };
      turns.push({ owner: { tenantId, userId }, turn });
      if (turns.length > MAX_TURNS) turns.shift();
    },
    list: (caller: Caller): readonly RecentTurn[] => turns.filter(({ owner }) => isShown(owner, caller)).map(({ turn }) => turn),
  };
}
