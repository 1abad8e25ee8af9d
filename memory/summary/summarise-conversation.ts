import type { ConversationJob } from "../../stores/jobs/job.ts";
import type { PromptMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { StoredSummary, SummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { DivideSummary } from "./divide-summary.ts";

/** When a conversation is summarised, counted in completed messages. */
export interface SummarySettings {
  /** The count for a first summary. */
  minMessages: number;
  /** Messages between the cover point and the window that make a later summary due. */
  updateDelta: number;
  /** The newest messages, which no summary covers. */
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
  coveredMessageCount: number;
}

/** Throws AppError. */
export type Summarise = (input: SummaryInput, signal: AbortSignal) => Promise<string>;

export interface SummariseConversationParts {
  summaries: SummaryStore;
  settings: SummarySettings;
  summarise: Summarise;
  /** Default: a summary has no parts. */
  divide?: DivideSummary;
  /** The limit for the messages of one step; a single message may have more. */
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
 * Merges the earlier summary and the oldest uncovered messages into the next version. It is due by the number of messages or, to shrink the
 * context, once a message stands before the window. In the second case this and every later version has parts. False: nothing to do, or
 * another process was faster. Throws AppError.
 */
async function takeSummaryStep(
  { summaries, settings, summarise, divide, stepTokens }: SummariseConversationParts,
  conversation: OwnedConversation,
  { signal, compacts }: { signal: AbortSignal; compacts: boolean },
): Promise<boolean> {
  const atMost = Math.max(STEP_MESSAGES + settings.historyWindow, uncoveredCountLimit(settings));
  const backlog = await summaries.readBacklog(conversation, atMost);
  const { summary } = backlog;
  const uncovered = backlog.messages.length;
  const isToBeSmaller = compacts || backlog.isSaturated;
  const isDue = isToBeSmaller ? uncovered > settings.historyWindow : isSummaryDue(settings, { hasSummary: summary !== null, uncovered });
  if (!isDue) return false;
  const covered = takeStep(backlog.messages.slice(0, Math.min(STEP_MESSAGES, uncovered - settings.historyWindow)), stepTokens);
  const last = covered.at(-1);
  if (!last) return false;
  const coveredMessageCount = (summary?.coveredMessageCount ?? 0) + covered.length;
  const earlier = { previous: summary?.text || null, parts: summary?.parts ?? null };
  const messages = covered.filter(({ content }) => content !== "");
  const isDivided = isToBeSmaller || earlier.parts !== null;
  const [text, parts] = await Promise.all([
    summarise({ previous: earlier.previous, messages, coveredMessageCount }, signal),
    // The text alone is worth having.
    isDivided && divide ? divide({ ...earlier, messages }, signal).catch(() => earlier.parts) : null,
  ]);
  signal.throwIfAborted();
  return summaries.save(conversation, {
    readVersion: summary?.version ?? 0,
    text,
    parts,
    tokenCount: estimateTokens(text),
    coveredThrough: { createdAt: last.createdAt, id: last.id },
    addedMessageCount: covered.length,
    rewrites: backlog.rewrites,
  });
}

export function makeSummariseConversation(parts: SummariseConversationParts): JobHandler<ConversationJob<"summarise">> {
  const { summaries, settings } = parts;
  return {
    step: async (conversation, signal) => void (await takeSummaryStep(parts, conversation, { signal, compacts: false })),
    async remaining(transaction, conversation) {
      const counted = await summaries.lockAndCount(transaction, conversation, uncoveredCountLimit(settings));
      if (!counted) return "erased";
      if (counted.isSaturated) return counted.uncovered > settings.historyWindow ? "more" : "nothing";
      return isSummaryDue(settings, counted) ? "more" : "nothing";
    },
  };
}

/** Summarises all messages before the window at once. Null: there was nothing to do. Throws AppError, or the signal's reason. */
export type CompactConversation = (conversation: OwnedConversation, signal: AbortSignal) => Promise<StoredSummary | null>;

export function makeCompactConversation(parts: SummariseConversationParts): CompactConversation {
  return async function compactConversation(conversation, signal) {
    let isChanged = false;
    while (await takeSummaryStep(parts, conversation, { signal, compacts: true })) isChanged = true;
    return isChanged ? parts.summaries.find(conversation) : null;
  };
}
