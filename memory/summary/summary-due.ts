/** When a conversation is summarised, counted in completed messages. */
export interface SummarySettings {
  /** The first summary is made when there are so many. */
  minMessages: number;
  /** A later one is made when so many lie between the cover point and the window. */
  updateDelta: number;
  /** The newest ones, which no summary covers. */
  historyWindow: number;
}

/** The defaults of the graph and of its jobs, which must agree. */
export const DEFAULT_SUMMARY: Readonly<SummarySettings> = { minMessages: 10, updateDelta: 5, historyWindow: 6 };

/** Whether a summary is due, given how many completed messages are not covered by one. */
export function isSummaryDue(
  { minMessages, updateDelta, historyWindow }: SummarySettings,
  { hasSummary, uncovered }: { hasSummary: boolean; uncovered: number },
): boolean {
  const beforeWindow = uncovered - historyWindow;
  return hasSummary ? beforeWindow >= updateDelta : uncovered >= minMessages && beforeWindow >= 1;
}

/** Counting more uncovered messages than this cannot change the answer of `isSummaryDue`. */
export function uncoveredCountLimit({ minMessages, updateDelta, historyWindow }: SummarySettings): number {
  return Math.max(minMessages, historyWindow + updateDelta, historyWindow + 1);
}
