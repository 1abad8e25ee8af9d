import type { StoredSummary } from "../stores/postgres/memory/summary-store.ts";
import type { ConversationSummary } from "../turn/state.ts";

export function toConversationSummary({ text, version, coveredMessageCount, coveredThrough, parts }: StoredSummary): ConversationSummary {
  const { createdAt, id } = coveredThrough;
  return { text, version, coveredMessageCount, coveredThrough: { createdAt: createdAt.toISOString(), messageId: id }, parts };
}
