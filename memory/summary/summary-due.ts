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
