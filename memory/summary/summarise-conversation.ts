import type { ConversationJob } from "../../stores/jobs/job.ts";
import type { SummaryStore, UncoveredMessage } from "../../stores/postgres/memory/summary-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import { isSummaryDue, type SummarySettings, uncoveredCountLimit } from "./summary-due.ts";

export interface SummaryInput {
  /** The summary before; null for the first. */
  previous: string | null;
  /** The messages after it, oldest first. */
  messages: { role: "user" | "assistant"; content: string }[];
  /** How many messages the new summary covers in all. */
  coveredMessageCount: number;
}

/** Writes a new summary from the one before and the messages after it. Throws AppError when it cannot. */
export type Summarise = (input: SummaryInput, signal: AbortSignal) => Promise<string>;

export interface SummariseConversationParts {
  summaries: SummaryStore;
  settings: SummarySettings;
  summarise: Summarise;
  /** Tokens of messages in one step; a single message may have more. */
  stepTokens: number;
}

/** Messages in one step: a backlog of any length is summarised in equal steps. */
const STEP_MESSAGES = 200;

/** The oldest messages with at most `maxTokens` together; at least one. */
function takeStep(messages: UncoveredMessage[], maxTokens: number): UncoveredMessage[] {
  let tokens = 0;
  const end = messages.findIndex(({ tokenCount }, index) => (tokens += tokenCount) > maxTokens && index > 0);
  return end < 0 ? messages : messages.slice(0, end);
}

/**
 * The job that summarises a conversation step by step: the summary before and the oldest uncovered messages become the next version. The last
 * `historyWindow` messages are never covered. When another process was faster nothing is written, and the next step continues from there.
 */
export function makeSummariseConversation({
  summaries,
  settings,
  summarise,
  stepTokens,
}: SummariseConversationParts): JobHandler<ConversationJob<"summarise">> {
  return {
    async step(conversation, signal) {
      const backlog = await summaries.readBacklog(
        conversation,
        Math.max(STEP_MESSAGES + settings.historyWindow, uncoveredCountLimit(settings)),
      );
      const { summary } = backlog;
      const uncovered = backlog.messages.length;
      if (!isSummaryDue(settings, { hasSummary: summary !== null, uncovered })) return;
      const covered = takeStep(backlog.messages.slice(0, Math.min(STEP_MESSAGES, uncovered - settings.historyWindow)), stepTokens);
      const last = covered.at(-1);
      if (!last) return;
      const coveredMessageCount = (summary?.coveredMessageCount ?? 0) + covered.length;
      const text = await summarise({ previous: summary?.text || null, messages: covered, coveredMessageCount }, signal);
      signal.throwIfAborted();
      await summaries.save(conversation, {
        readVersion: summary?.version ?? 0,
        text,
        tokenCount: estimateTokens(text),
        coveredThrough: { createdAt: last.createdAt, id: last.id },
        addedMessageCount: covered.length,
        rewrites: backlog.rewrites,
      });
    },

    async remaining(transaction, conversation) {
      const counted = await summaries.lockAndCount(transaction, conversation, uncoveredCountLimit(settings));
      if (!counted) return "erased";
      return isSummaryDue(settings, counted) ? "more" : "nothing";
    },
  };
}
