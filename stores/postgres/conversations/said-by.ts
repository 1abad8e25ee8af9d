import { BEGINS_AS_THOUGHT, withoutThoughts } from "../../../text/split-thoughts.ts";
import { estimateTokens } from "../../../text/tokens.ts";

type Role = "user" | "assistant";

/** What a stored message says, without thoughts. Empty when all of it is a thought. */
export function saidBy(role: Role, content: string): string {
  return role === "assistant" ? withoutThoughts(content) : content;
}

/** The row with what its message says; the same object when nothing changes. */
export function toSaid<Row extends { role: Role; content: string; tokenCount: number }>(row: Row): Row {
  const content = saidBy(row.role, row.content);
  return content === row.content ? row : { ...row, content, tokenCount: estimateTokens(content) };
}

/** A summary may mention tags: only a leading thought is left out, unless it is all there is. */
export function summaryWithoutThought(summary: string): string {
  return BEGINS_AS_THOUGHT.test(summary) ? withoutThoughts(summary).trim() || summary : summary;
}
