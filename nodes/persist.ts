import { AppError, type ErrorContent } from "../errors/app-error.ts";
import { abortable, startDeadline } from "../turn/deadlines.ts";
import { type ConversationState, type ConversationUpdate, isWholeAnswer, type Citation, type Receipt } from "../turn/state.ts";
import type { TurnRuntime, Node } from "../turn/context.ts";
import { SUPERSEDED, turnDeleted, turnOutcome, NOT_REMEMBERED } from "../turn/outcome.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { AnswerToStore } from "../stores/postgres/turns/recover-turn.ts";
import type { FinishOutcome, TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { retryWhileUnreachable, withLease } from "../stores/postgres/turns/turn-lease.ts";
import { jobsAfterTurn, type MemoryLayers, waitAfterTurn } from "../memory/jobs-after-turn.ts";

/** [1], [1, 2], 【1】 and what a Chinese keyboard writes between numbers. */
const CITED = /[[【［]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]】］]/gu;

const CODE = /```[^]*?(?:```|$)|`[^`\n]*`/g;

function citedNumbers(answer: string): Set<number> {
  const numbers = [...answer.replace(CODE, " ").matchAll(CITED)].flatMap(([, list = ""]) => list.match(/\d+/g) ?? []);
  return new Set(numbers.map(Number));
}

/** The passages that the answer cites by number, or all it was given: it may rest on any. */
export function citationsOf(answer: string, passages: Receipt["passages"]): Citation[] {
  const all = passages.map(({ id, document_id, title, heading }, place) => {
    return { number: place + 1, passage_id: id, document_id, title, heading };
  });
  const numbers = citedNumbers(answer);
  const cited = all.filter(({ number }) => numbers.has(number));
  return cited.length > 0 ? cited : all;
}

/** The beginning of a continued answer keeps its sources: its numbers may name other passages. */
function withEarlier(earlier: readonly Citation[], later: readonly Citation[]): Citation[] {
  const isKnown = (one: Citation): boolean => earlier.some((other) => other.number === one.number && other.passage_id === one.passage_id);
  return [...earlier, ...later.filter((one) => !isKnown(one))];
}

/** What a stored answer keeps of its turn: ids, names, versions and counts, never remembered text. */
export function answerMetadata(state: ConversationState): Record<string, unknown> {
  const { turnId, workerName, answeredBy, usage, cut, error, receipt, continued, answer } = state;
  return {
    turn_id: turnId,
    worker_name: workerName,
    model: answeredBy,
    usage,
    // Undefined when the turn failed before it was routed.
    route: state.routeDecision ?? null,
    citations: withEarlier(continued?.citations ?? [], citationsOf(answer, receipt?.passages ?? [])),
    episodes: receipt?.episodes ?? [],
    core_memory: receipt?.core_memory ?? [],
    ...(state.chosen ? { chosen: state.chosen } : {}),
    ...(state.remember === false ? NOT_REMEMBERED : {}),
    ...(cut ? { cut } : {}),
    ...(error ? { error: error.code } : {}),
    ...(state.debug ? { execution_log: state.executionLogs } : {}),
  };
}

function toAnswer(state: ConversationState): AnswerToStore | null {
  const { answer, answerMessageId, continued } = state;
  if (answer === "" || answerMessageId === null) return null;
  const content = (continued?.text ?? "") + answer;
  return {
    messageId: answerMessageId,
    userMessageId: state.currentMessageId,
    content: content.toWellFormed(), // half a surrogate pair, as a cut stream can leave, is no UTF-8
    completed: isWholeAnswer(state),
    grows: continued !== null,
    tokenCount: estimateTokens(content),
    metadata: answerMetadata(state),
  };
}

/** The errors of turns that were not stored as they ended. */
const LOST: Record<Exclude<FinishOutcome, "stored">, ErrorContent> = {
  superseded: SUPERSEDED,
  gone: turnDeleted().toContent(),
  taken: SUPERSEDED,
};

const notStored = (turnId: string): ErrorContent =>
  new AppError(
    "storage_unavailable",
    `The answer cannot be stored at the moment, and is stored as soon as the database takes it. Ask GET /api/v1/turns/${turnId} for it.`,
  ).toContent();

export interface PersistParts {
  turns: TurnStore;
  leaseMs: number;
  storeMs: number;
  layers: MemoryLayers;
}

/**
 * Stores a turn's answer, outcome and jobs and releases the conversation, all or nothing. While Postgres is unreachable it tries again and
 * holds the conversation. After `storeMs` the turn ends with `storage_unavailable`, and is stored once possible. For a turn that is not to
 * be stored it deletes the message instead.
 */
export function makePersist({ turns, leaseMs, storeMs, layers }: PersistParts): Node {
  return async function persist(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId } = state;
    const held = { tenantId, userId, conversationId, turnId, runner: runtime.context?.resumed?.runner ?? null };

    /** Undefined: it is late, and goes on. */
    async function inTime<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
      using deadline = startDeadline(storeMs);
      try {
        return await abortable(() => withLease({ turns, leaseMs }, held, undefined, () => retryWhileUnreachable(work)), deadline.signal);
      } catch (error) {
        if (deadline.isOver()) return undefined;
        throw error;
      }
    }

    if (!state.store) {
      await inTime(() => turns.takeBack(held));
      return { answerMessageId: null };
    }
    const answer = toAnswer(state);
    const jobs = jobsAfterTurn(layers, state);
    const activeAgent = state.handedTo ?? (state.namesAgent ? null : undefined);
    const hasFailed = state.error !== null && state.answer === "";
    const toStore = { ...turnOutcome(state, runtime.context?.progress?.()), activeAgent: hasFailed ? undefined : activeAgent };
    const outcome = await inTime(async () => {
      const stored = await turns.finish(held, answer, jobs, toStore, waitAfterTurn(state));
      runtime.note?.({ outcome: stored, completed: answer?.completed ?? false, jobs: jobs.map(({ kind }) => kind) });
      return stored;
    });
    const answerMessageId = answer && outcome !== "gone" ? answer.messageId : null;
    if (outcome === "stored" || state.error) return { answerMessageId };
    return { answerMessageId, partialAnswer: true, error: outcome ? LOST[outcome] : notStored(turnId) };
  };
}
