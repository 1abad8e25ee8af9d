/** A completed turn: a user's message and the answer right behind it. */
export interface MessagePair<Message> {
  asked: Message;
  answer: Message;
}

/** The completed turns among messages in order. A message without an answer, or an answer to nothing, is in none. */
export function pairMessages<Message extends { role: "user" | "assistant" }>(messages: readonly Message[]): MessagePair<Message>[] {
  return messages.flatMap((asked, index) => {
    const answer = messages[index + 1];
    return asked.role === "user" && answer?.role === "assistant" ? [{ asked, answer }] : [];
  });
}
