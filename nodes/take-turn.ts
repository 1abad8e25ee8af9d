import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { abortable } from "../turn/deadlines.ts";
import type { QuestionStore } from "../stores/postgres/agents/question-store.ts";
import { isTakingBack } from "../turn/turn-input.ts";
import type { BeginTurn, BegunTurn } from "../stores/postgres/turns/recover-turn.ts";
import type { TurnRecordStore } from "../stores/postgres/turns/turn-record-store.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { ReplyLost } from "../stores/postgres/database/storage-errors.ts";
import type { OnBusy } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { endWaiting } from "../agents/questions/waiting-turns.ts";
import { retryWhileUnreachable } from "../stores/postgres/turns/turn-lease.ts";

interface BeginParts {
  turns: TurnStore;
  records: Pick<TurnRecordStore, "interrupt">;
  questions: Pick<QuestionStore, "waitingIn" | "cancel">;
}

interface BeginOptions {
  onBusy: OnBusy;
  signal: AbortSignal | undefined;
  /** For loading the window next. */
  window?: Parameters<TurnStore["begin"]>[1];
}

/** The first pause between two attempts at a busy conversation; each is longer by half. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** How long a client waits while a begin whose reply was lost is looked up. */
const LOOKUP_MS = 5_000;

/** Undoes a refused turn: removes its message, or stores the turn as failed when its key can retry it, or it stored no message. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const { tenantId, userId, turnId } = turn;
  const held = { tenantId, userId, turnId, conversationId: begun.conversationId };
  if (!turn.key && typeof turn.continues !== "string" && !isTakingBack(turn)) return retryWhileUnreachable(() => turns.takeBack(held));
  const outcome = failedTurnOutcome(refusal.toContent(), undefined);
  await retryWhileUnreachable(() => turns.finish(held, null, [], outcome));
}

/**
 * Begins the turn. After a lost reply what Postgres has stored counts; if Postgres stays unreachable the turn is refused, and undone later.
 */
async function begin(turns: TurnStore, turn: BeginTurn, window: BeginOptions["window"]): Promise<BegunTurn | null> {
  try {
    return await turns.begin(turn, window);
  } catch (refusal) {
    if (!(refusal instanceof ReplyLost)) throw refusal;
    const lookup = retryWhileUnreachable(() => turns.findBegun(turn));
    const inTime = AbortSignal.timeout(LOOKUP_MS);
    const begun = await abortable(() => lookup, inTime).catch(() => null);
    if (begun) return begun;
    if (inTime.aborted) lookup.then((late) => undo(turns, turn, late, refusal)).catch(() => undefined);
    throw refusal;
  }
}

/** Handles a question that keeps the conversation. Throws AppError `conversation_waiting` unless the caller ends its turn. */
async function passQuestion({ turns, questions }: BeginParts, turn: BeginTurn, onBusy: OnBusy): Promise<void> {
  const waiting = await questions.waitingIn(turn);
  if (!waiting) return;
  const { turnId } = waiting;
  // A caller that goes on by itself has given up its calls.
  const isGivenUp = waiting.question.type === "client_tool" && onBusy === "enqueue";
  if (isGivenUp || onBusy === "cancel_waiting" || onBusy === "interrupt") {
    const cancelled = await questions.cancel(turn, turnId, turn.leaseMs);
    if (cancelled) await retryWhileUnreachable(() => endWaiting(turns, cancelled));
    return;
  }
  throw new AppError(
    "conversation_waiting",
    `The conversation of session_id "${turn.sessionId}" waits: turn ${turnId} has asked something. Answer with POST /api/v1/turns/${turnId}/answers, or send "on_busy": "cancel_waiting" to end that turn.`,
  );
}

const placeInLine = (onBusy: OnBusy, { tenantId, userId, sessionId }: BeginTurn): string =>
  JSON.stringify([onBusy, tenantId, userId, sessionId]);

async function beginWhenFree(
  parts: BeginParts & { line: KeyedQueue },
  turn: BeginTurn,
  { onBusy, signal, window }: BeginOptions,
): Promise<BegunTurn> {
  const { turns, records, line } = parts;
  const isOvertaken = (): boolean => onBusy === "enqueue" && line.isTaken(placeInLine("interrupt", turn));
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = isOvertaken() ? null : await begin(turns, turn, window);
    if (begun) return begun;
    if (!isOvertaken()) await passQuestion(parts, turn, onBusy);
    if (onBusy === "interrupt") await records.interrupt(turn, turn.key?.keyHash ?? null);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. In a busy conversation:
 * - `enqueue` waits in line;
 * - `interrupt` stops the other turn, waits until its words are stored, and goes before those in line;
 * - `refuse` throws AppError `conversation_busy`.
 * `cancel_waiting` and `interrupt` end a turn that waits for an answer; else AppError `conversation_waiting` is thrown. Throws
 * `storage_unavailable` when Postgres is unreachable.
 */
export async function beginTurn(parts: BeginParts & { line: KeyedQueue }, turn: BeginTurn, options: BeginOptions): Promise<BegunTurn> {
  const { onBusy, signal, window } = options;
  if (onBusy === "enqueue" || onBusy === "interrupt") {
    return parts.line.run(placeInLine(onBusy, turn), () => beginWhenFree(parts, turn, options), signal);
  }
  for (const isLast of [onBusy === "refuse", true]) {
    const begun = await begin(parts.turns, turn, window);
    if (begun) return begun;
    await passQuestion(parts, turn, onBusy);
    if (isLast) break;
  }
  const problem = `The conversation of session_id "${turn.sessionId}" is still answering an earlier message.`;
  throw new AppError(
    "conversation_busy",
    `${problem} Wait for its end, or send "on_busy": "enqueue" to wait in line, or "interrupt" to stop it.`,
  );
}

type KeyedQueue = ReturnType<typeof makeKeyedQueue>;

/** A queue for each key, within this process: first come, first served. */
export function makeKeyedQueue() {
  const last = new Map<string, Promise<void>>();
  return {
    isTaken: (key: string): boolean => last.has(key),
    /** Runs `attempt` after all earlier ones of the key. Throws the signal's reason when it aborts before. */
    async run<Result>(key: string, attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
      const before = last.get(key);
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      last.set(key, ended);
      try {
        if (before) await abortable(() => before, signal);
        return await attempt();
      } finally {
        // After an attempt that gave up, the next one still waits for all earlier ones.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === ended) last.delete(key);
          end();
        });
      }
    },
  };
}
