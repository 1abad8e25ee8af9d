import type { ConversationState } from "../graph/state.ts";
import { isSummaryDue, type SummarySettings } from "../memory/summary/summary-due.ts";
import type { Job } from "../stores/jobs/job.ts";
import { uncoveredOf } from "./uncovered-of.ts";

/** Which layers have work after a turn; null for a layer that is switched off. */
export interface LayersAfterTurn {
  summary: SummarySettings | null;
  episodes?: boolean;
}

/** The jobs of a finished turn: a new summary when enough messages have come together, and its episode when it is complete. */
export function jobsAfterTurn({ summary: settings, episodes = false }: LayersAfterTurn, state: ConversationState): Job[] {
  const { tenantId, userId, conversationId, conversationSummary: summary, answer, partialAnswer } = state;
  const isComplete = answer !== "" && !partialAnswer;
  const uncovered = uncoveredOf(state.recentMessages, summary).length + (isComplete ? 2 : 1); // the user's message is kept in any case
  const about = { tenantId, userId, conversationId };
  const jobs: Job[] = [];
  // A window that was not read to its end is longer than any setting asks for.
  const isDue = settings !== null && (!state.windowIsWhole || isSummaryDue(settings, { hasSummary: summary !== null, uncovered }));
  if (isDue) jobs.push({ kind: "summarise", ...about });
  if (episodes && isComplete) jobs.push({ kind: "index_episodes", ...about });
  return jobs;
}
