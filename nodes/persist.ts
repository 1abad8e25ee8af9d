import pRetry from "p-retry";
import { v7 as uuidv7 } from "uuid";
import { AppError, type ErrorContent } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import { outcomeOf, SUPERSEDED } from "../graph/turn-outcome.ts";
import { estimateTokens } from "../models/estimate-tokens.ts";
import type { Job } from "../stores/jobs/job.ts";
import type { AnswerToStore, FinishOutcome, TurnStore } from "../stores/postgres/turn-store.ts";
import type { Node } from "./measured.ts";

/** Tries to store an answer: about 3 seconds in all, so that a Postgres that restarts loses none, within the lease of the turn. */
const RETRIES = { retries: 4, minTimeout: 200, factor: 2, maxRetryTime: 10_000 };

function toAnswer({ answer, partialAnswer, turnId, workerName, usage, currentMessageId }: ConversationState): AnswerToStore | null {
  if (answer === "") return null;
  return {
    messageId: uuidv7(),
    questionId: currentMessageId,
    content: answer.toWellFormed(), // half a surrogate pair, as a cut stream can leave, is no UTF-8
    completed: !partialAnswer,
    tokenCount: estimateTokens(answer),
    metadata: { turn_id: turnId, worker_name: workerName, usage },
  };
}

const LOST: Record<Exclude<FinishOutcome, "stored">, ErrorContent> = {
  superseded: SUPERSEDED,
  gone: new AppError(
    "turn_superseded",
    "The conversation or this message was deleted while this turn was answering; nothing of it was kept.",
  ).toContent(),
};

export interface PersistParts {
  turns: TurnStore;
  /** What remains to be done when this turn is stored. */
  jobsAfter: (state: ConversationState) => Job[];
}

/**
 * Writes the answer, the outcome and the jobs of this turn and gives the conversation back, in one transaction. No answer is stored when not one token was produced. Throws
 * AppError `storage_unavailable` when Postgres stays away; the lease then runs out by itself.
 */
export function makePersist({ turns, jobsAfter }: PersistParts): Node {
  return async function persist(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId } = state;
    const answer = toAnswer(state);
    const jobs = jobsAfter(state);
    const told = outcomeOf(state, runtime.context?.told?.());
    const outcome = await pRetry(() => turns.finish({ tenantId, userId, conversationId, turnId }, answer, jobs, told), {
      ...RETRIES,
      shouldRetry: ({ error }) => error instanceof AppError && error.code === "storage_unavailable",
    });
    const answerMessageId = answer && outcome !== "gone" ? answer.messageId : null;
    runtime.note?.({ outcome, completed: answer?.completed ?? false, jobs: jobs.map(({ kind }) => kind) });
    if (outcome === "stored" || state.error) return { answerMessageId };
    return { answerMessageId, partialAnswer: true, error: LOST[outcome] };
  };
}
