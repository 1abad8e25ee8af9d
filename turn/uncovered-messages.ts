import type { ConversationSummary, WindowMessage } from "./state.ts";

/** The messages that the summary does not cover: all, unless the window has grown since. */
export function uncoveredMessages(window: WindowMessage[], summary: ConversationSummary | null): WindowMessage[] {
  if (!summary) return window;
  const { createdAt, messageId } = summary.coveredThrough;
  return window.filter((message) => message.createdAt > createdAt || (message.createdAt === createdAt && message.id > messageId));
}
