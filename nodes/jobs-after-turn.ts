import type { ConversationState } from "../graph/state.ts";
import { isSummaryDue, type SummarySettings } from "../memory/summary/summary-due.ts";
import { layerJob, type Job, type LayerJobKind } from "../stores/jobs/job.ts";
import { uncoveredOf } from "./uncovered-of.ts";

/** Which layers have work after a turn; null for a layer that is switched off. */
export interface LayersAfterTurn {
  summary: SummarySettings | null;
  episodes?: boolean;
  coreMemory?: boolean;
}

/** The jobs of a finished turn: a new summary when enough messages have come together; when it is complete, its episode and the memory agent. */
export function jobsAfterTurn(
  { summary: settings, episodes = false, coreMemory = false }: LayersAfterTurn,
  state: ConversationState,
): Job[] {
  const { conversationSummary: summary, answer, partialAnswer } = state;
  const isComplete = answer !== "" && !partialAnswer;
  const uncovered = uncoveredOf(state.recentMessages, summary).length + (isComplete ? 2 : 1); // the user's message is kept in any case
  const kinds: LayerJobKind[] = [];
  // A window that was not read to its end is longer than any setting asks for.
  const isDue = settings !== null && (!state.windowIsWhole || isSummaryDue(settings, { hasSummary: summary !== null, uncovered }));
  if (isDue) kinds.push("summarise");
  if (episodes && isComplete) kinds.push("index_episodes");
  if (coreMemory && isComplete) kinds.push("remember");
  return kinds.map((kind) => layerJob(kind, state));
}
