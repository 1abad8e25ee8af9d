import type { ConversationJob } from "../../stores/jobs/job.ts";
import type { PromptMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { SummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";

/** When a conversation is summarised, counted in completed messages. */
export interface SummarySettings {
  /** From here on there is a first summary. */
  minMessages: number;
  /** Messages between the cover point and the window that make a later summary due. */
  updateDelta: number;
  /** The newest, which no summary covers. */
  historyWindow: number;
}

export const DEFAULT_SUMMARY: Readonly<SummarySettings> = { minMessages: 10, updateDelta: 5, historyWindow: 6 };

/** `uncovered`: completed messages that no summary covers. */
export function isSummaryDue(
  { minMessages, updateDelta, historyWindow }: SummarySettings,
  { hasSummary, uncovered }: { hasSummary: boolean; uncovered: number },
): boolean {
  const beforeWindow = uncovered - historyWindow;
  return hasSummary ? beforeWindow >= updateDelta : uncovered >= minMessages && beforeWindow >= 1;
}

/** Counting beyond this cannot change `isSummaryDue`. */
export function uncoveredCountLimit({ minMessages, updateDelta, historyWindow }: SummarySettings): number {
  return Math.max(minMessages, historyWindow + updateDelta, historyWindow + 1);
}

export interface SummaryInput {
  /** Null for the first. */
  previous: string | null;
  /** Oldest first. */
  messages: { role: "user" | "assistant"; content: string }[];
  /** Messages that the new summary covers in all. */
  coveredMessageCount: number;
}

/** Throws AppError. */
export type Summarise = (input: SummaryInput, signal: AbortSignal) => Promise<string>;

interface SummariseConversationParts {
  summaries: SummaryStore;
  settings: SummarySettings;
  summarise: Summarise;
  /** Of messages in one step; a single message may have more. */
  stepTokens: number;
}

const STEP_MESSAGES = 200;

/** At least one message. */
function takeStep(messages: PromptMessage[], maxTokens: number): PromptMessage[] {
  let tokens = 0;
  const end = messages.findIndex(({ tokenCount }, index) => (tokens += tokenCount) > maxTokens && index > 0);
  return end < 0 ? messages : messages.slice(0, end);
}

/**
 * Summarises a conversation step by step: the summary before and the oldest uncovered messages become the next version. When another
 * process was faster nothing is written.
 */
export function makeSummariseConversation(parts: SummariseConversationParts): JobHandler<ConversationJob<"summarise">> {
  const { summaries, settings, summarise, stepTokens } = parts;
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
