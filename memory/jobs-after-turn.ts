import { isSummaryDue, type SummarySettings } from "./summary/summarise-conversation.ts";
import { SATURATED } from "../models/facts/prompt-budget.ts";
import { type ConversationState, isWholeAnswer, uncoveredMessages } from "../turn/state.ts";
import { type Job, layerJob, type LayerJobKind } from "../stores/jobs/job.ts";

export interface MemoryLayers {
  summary: SummarySettings | null;
  episodes?: boolean;
  coreMemory?: boolean;
  /** A model names conversations. */
  titles?: boolean;
}

/** A turn follows quickly when the message before it is no older. */
const QUICK_MS = 10_000;
/** Jobs of quick turns wait for the next one and so run as one, and none runs between a question and its answer. */
const GATHER_SECONDS = 3;

/** The seconds that a job waits after its turn: none after the first in a while, which a new conversation may need at once. */
export function waitAfterTurn({ recentMessages }: Pick<ConversationState, "recentMessages">): (job: Job) => number {
  const before = recentMessages.at(-1);
  const isQuick = before !== undefined && Date.now() - Date.parse(before.createdAt) <= QUICK_MS;
  return ({ kind }) => (isQuick && kind !== "title" ? GATHER_SECONDS : 0);
}

/**
 * The jobs after a complete answer: a due summary, the episode and the memory agent, and after the first answer the title. A failed turn
 * has none.
 */
export function jobsAfterTurn(
  { summary: settings, episodes = false, coreMemory = false, titles = false }: MemoryLayers,
  state: ConversationState,
): Job[] {
  if (!isWholeAnswer(state)) return [];
  const { conversationSummary: summary } = state;
  const uncovered = uncoveredMessages(state.recentMessages, summary).length + 2;
  const kinds: LayerJobKind[] = [];
  // A partial window has more uncovered messages than any setting.
  const isNowSaturated = (state.usage?.usage_ratio ?? 0) >= SATURATED && state.lastUsageRatio < SATURATED;
  const isFull = settings !== null && isNowSaturated && uncovered > settings.historyWindow;
  const isDue = settings !== null && (!state.windowIsWhole || isSummaryDue(settings, { hasSummary: summary !== null, uncovered }));
  if (isDue || isFull) kinds.push("summarise");
  if (episodes) kinds.push("index_episodes");
  if (coreMemory) kinds.push("remember");
  const isFirst = summary === null && state.windowIsWhole && !state.recentMessages.some(({ role }) => role === "assistant");
  if (titles && isFirst) kinds.push("title");
  return kinds.map((kind) => layerJob(kind, state));
}
