import type { ConversationSummary, WindowMessage } from "../graph/state.ts";

/** The messages that the summary does not cover: all, unless the window was made larger after the summary was written. */
export function uncoveredOf(window: WindowMessage[], summary: ConversationSummary | null): WindowMessage[] {
  if (!summary) return window;
  const { createdAt, messageId } = summary.coveredThrough;
  return window.filter((message) => message.createdAt > createdAt || (message.createdAt === createdAt && message.id > messageId));
}
