import { pairMessages, type MessagePair } from "./episodes/pair-messages.ts";

/** The completed turns at the beginning of a backlog, and the last message that is dealt with; none: nothing is complete yet. */
export interface CompleteTurns<Message> {
  pairs: MessagePair<Message>[];
  through: Message | undefined;
}

/**
 * The completed turns among the oldest messages of a backlog, read up to `limit`. A message without an answer may still get one; only when
 * as many as were asked for have none are they passed over.
 */
export function completeTurns<Message extends { role: "user" | "assistant" }>(
  messages: readonly Message[],
  limit: number,
): CompleteTurns<Message> {
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  const end = lastAnswer >= 0 ? lastAnswer : messages.length === limit ? messages.length - 2 : -1;
  return { pairs: pairMessages(messages.slice(0, end + 1)), through: messages[end] };
}
