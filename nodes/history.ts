import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { ContinuedAnswer, ConversationState, ConversationUpdate } from "../turn/state.ts";
import { emit, type OnBusy, type TurnRuntime } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { shareOf } from "../models/facts/prompt-budget.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { TurnRecordStore } from "../stores/postgres/conversations/turn-record-store.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { type LoadedHistory, type LoadHistoryParts, makeLoadHistory, toHistory } from "./load-history.ts";
import { retryWhileUnreachable, withLease } from "./turn-lease.ts";
import type { Node } from "./node.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { abortable } from "../models/deadlines.ts";
import { ReplyLost } from "../stores/postgres/database/storage-errors.ts";
import type { BeginTurn, BegunTurn, ContinuedAnswer as StoredAnswer } from "../stores/postgres/conversations/recover-turn.ts";

export interface HistoryParts extends LoadHistoryParts {
  turns: TurnStore;
  records: Pick<TurnRecordStore, "interrupt">;
  leaseMs: number;
}

function toContinued({ answerId, text, completed, citations }: StoredAnswer): ContinuedAnswer {
  return { answerId, text, completed, citations };
}

/**
 * Takes the conversation for this turn, stores the user's message unless an earlier attempt of the same key has, and loads the summary with
 * the window behind it. A turn that goes on with the last answer stores no message. Throws AppError `conversation_busy`, `invalid_request`
 * or `storage_unavailable`; then nothing is stored or held.
 */
export function makeHistory(parts: HistoryParts): Node {
  const { turns, records, historyWindow, useSummary, episodes, leaseMs } = parts;
  const loader = makeLoadHistory(parts);
  const line = makeKeyedQueue();

  return async function history(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, sessionId, message, continues, remember } = state;
    const { context } = runtime;
    const turnId = context?.turnId ?? uuidv7();
    const owner = { tenantId, userId };
    const looking = loader.lookForEpisodes(state, context?.signal);
    looking.catch(() => undefined); // awaited below, when the turn has begun
    const { conversationId, messageId, newest, continued, lastPrompt } = await beginTurn(
      { turns, records, line },
      {
        ...owner,
        sessionId,
        turnId,
        leaseMs,
        message,
        tokenCount: estimateTokens(message),
        key: context?.key,
        continues: continues ?? undefined,
        remember,
      },
      { onBusy: context?.onBusy ?? "refuse", signal: context?.signal, window: { atLeast: historyWindow, useSummary } },
    );
    const conversation = { ...owner, conversationId };
    const held = { ...conversation, turnId };
    let isRetry = false;
    const loadOnce = (): Promise<LoadedHistory> => {
      const look = isRetry ? loader.lookForEpisodes(state, context?.signal) : looking;
      isRetry = true;
      return loader.load({ ...conversation, exceptMessageId: messageId, model: state.requestedModel }, look, newest ?? undefined);
    };
    try {
      const loaded = await withLease({ turns, leaseMs }, held, context?.signal, (signal) => retryWhileUnreachable(loadOnce, signal));
      const { summary, messages, isWhole, hasOtherEpisodes } = loaded;
      runtime.note?.({
        window_messages: messages.length,
        window_is_whole: isWhole,
        summary_version: summary?.version ?? null,
        has_other_episodes: hasOtherEpisodes,
      });
      emit(runtime, { status: "accepted", content: { turn_id: turnId, conversation_id: conversationId, message_id: messageId } });
      return {
        turnId,
        conversationId,
        currentMessageId: messageId,
        lastUsageRatio: lastPrompt ? shareOf(lastPrompt.tokens, lastPrompt.limit) : 0,
        ...(continued ? { message: continued.question, continued: toContinued(continued) } : {}),
        ...toHistory(loaded, episodes !== null, continued?.answerId),
      };
    } catch (error) {
      // The message is stored and the run ends here: release the conversation at once.
      const outcome = failedTurnOutcome(toAppError(error).toContent(), context?.progress?.());
      await retryWhileUnreachable(() => turns.finish(held, null, [], outcome)).catch(() => undefined);
      throw error;
    }
  };
}

type BeginParts = Pick<HistoryParts, "turns" | "records">;

interface BeginOptions {
  onBusy: OnBusy;
  signal: AbortSignal | undefined;
  /** Of the window that is loaded next. */
  window?: Parameters<TurnStore["begin"]>[1];
}

/** Pauses between two attempts at a busy conversation, each longer by half. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** How long a client waits while a begin whose reply was lost is looked up. */
const LOOKUP_MS = 5_000;

/** Undoes a refused turn: removes its message, or stores the turn as failed when it has a key to try it again, or stored no message. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const { tenantId, userId, turnId } = turn;
  const held = { tenantId, userId, turnId, conversationId: begun.conversationId };
  if (!turn.key && turn.continues === undefined) return retryWhileUnreachable(() => turns.takeBack(held));
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

async function beginWhenFree(
  { turns, records }: BeginParts,
  turn: BeginTurn,
  { onBusy, signal, window }: BeginOptions,
): Promise<BegunTurn> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = await begin(turns, turn, window);
    if (begun) return begun;
    if (onBusy === "interrupt") await records.interrupt(turn, turn.key?.keyHash ?? null);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. When another turn holds it, `enqueue` waits in line, `interrupt` stops
 * that turn, waits until what it said is stored, and goes before those in line, and `refuse` throws AppError `conversation_busy`. Throws
 * `storage_unavailable` when Postgres is unreachable.
 */
export async function beginTurn(parts: BeginParts & { line: KeyedQueue }, turn: BeginTurn, options: BeginOptions): Promise<BegunTurn> {
  const { onBusy, signal, window } = options;
  if (onBusy !== "refuse") {
    const place = JSON.stringify([onBusy, turn.tenantId, turn.userId, turn.sessionId]);
    return parts.line.run(place, () => beginWhenFree(parts, turn, options), signal);
  }
  const begun = await begin(parts.turns, turn, window);
  if (begun) return begun;
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
    /** Runs `attempt` when all earlier ones of the key have ended. Throws the signal's reason when it aborts before. */
    async run<Result>(key: string, attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
      const before = last.get(key);
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      last.set(key, ended);
      try {
        if (before) await abortable(() => before, signal);
        return await attempt();
      } finally {
        // Behind an attempt that gave up, the next one still waits for all earlier ones.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === ended) last.delete(key);
          end();
        });
      }
    },
  };
}
