import { BEGINS_AS_THOUGHT, withoutThoughts } from "../../../text/split-thoughts.ts";
import { estimateTokens } from "../../../text/tokens.ts";

type Role = "user" | "assistant";

/** What a stored message says: an answer may have been stored with thoughts in it. Empty when all of it is a thought. */
export function saidBy(role: Role, content: string): string {
  return role === "assistant" ? withoutThoughts(content) : content;
}

/** The row with what its message says; the same one when there is nothing to take out. */
export function toSaid<Row extends { role: Role; content: string; tokenCount: number }>(row: Row): Row {
  const content = saidBy(row.role, row.content);
  return content === row.content ? row : { ...row, content, tokenCount: estimateTokens(content) };
}

/** A summary may tell of tags: only a thought that it begins with is left out. One that is nothing else stays, as it stands for messages. */
export function summaryWithoutThought(summary: string): string {
  return BEGINS_AS_THOUGHT.test(summary) ? withoutThoughts(summary).trim() || summary : summary;
}
