import { AppError, type ErrorContent } from "../errors/app-error.ts";
import type { ConversationState, ConversationUpdate } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import { outcomeOf, SUPERSEDED } from "../graph/turn-outcome.ts";
import { estimateTokens } from "../models/estimate-tokens.ts";
import type { Job } from "../stores/jobs/job.ts";
import type { AnswerToStore, FinishOutcome, TurnStore } from "../stores/postgres/turn-store.ts";
import { keepLease } from "./keep-lease.ts";
import type { Node } from "./measured.ts";
import { whileStorageIsAway } from "./while-storage-is-away.ts";

function toAnswer({
  answer,
  answerMessageId,
  partialAnswer,
  turnId,
  workerName,
  usage,
  currentMessageId,
}: ConversationState): AnswerToStore | null {
  if (answer === "" || answerMessageId === null) return null;
  return {
    messageId: answerMessageId,
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
  leaseMs: number;
  /** What remains to be done when this turn is stored. */
  jobsAfter: (state: ConversationState) => Job[];
}

/**
 * Writes the answer, the outcome and the jobs of this turn and gives the conversation back, in one transaction. No answer is stored when not one token
 * was produced. While Postgres is away it goes on trying and holds the conversation; only a service that stops ends that.
 */
export function makePersist({ turns, leaseMs, jobsAfter }: PersistParts): Node {
  return async function persist(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId } = state;
    const answer = toAnswer(state);
    const jobs = jobsAfter(state);
    const told = outcomeOf(state, runtime.context?.told?.());
    const held = { tenantId, userId, conversationId, turnId };
    const outcome = await keepLease({ turns, leaseMs }, held, undefined, () =>
      whileStorageIsAway(() => turns.finish(held, answer, jobs, told)),
    );
    const answerMessageId = answer && outcome !== "gone" ? answer.messageId : null;
    runtime.note?.({ outcome, completed: answer?.completed ?? false, jobs: jobs.map(({ kind }) => kind) });
    if (outcome === "stored" || state.error) return { answerMessageId };
    return { answerMessageId, partialAnswer: true, error: LOST[outcome] };
  };
}
