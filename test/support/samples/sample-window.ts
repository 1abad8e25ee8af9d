import fc from "fast-check";
import type { ConversationSummary, WindowMessage } from "../../../turn/state.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { anyText } from "./any-text.ts";

const NOON = Date.parse("2024-01-31T12:00:00.000Z");

/** A time so many milliseconds after a fixed noon, ISO 8601. */
export const timeAt = (milliseconds: number): string => new Date(NOON + milliseconds).toISOString();

export const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

export function windowMessage(role: "user" | "assistant", content: string, fields: Partial<WindowMessage> = {}): WindowMessage {
  return { id: crypto.randomUUID(), role, content, tokenCount: estimateTokens(content), createdAt: timeAt(0), ...fields };
}

/** Messages 1 to `count`, of the user and the assistant in turn, each a millisecond after the one before. */
export function sampleWindow(count: number, contentOf = (number: number): string => `message ${number}`): WindowMessage[] {
  return Array.from({ length: count }, (_, index) =>
    windowMessage(index % 2 === 0 ? "user" : "assistant", contentOf(index + 1), { id: idOf(index + 1), createdAt: timeAt(index + 1) }),
  );
}

/** A summary whose cover point is message `number` of `sampleWindow`. */
export function summaryThrough(number: number, fields: Partial<ConversationSummary> = {}): ConversationSummary {
  const coveredThrough = { createdAt: timeAt(number), messageId: idOf(number) };
  return { text: "The user is Ada.", version: 1, coveredMessageCount: number, coveredThrough, ...fields };
}

export const anyWindow: fc.Arbitrary<WindowMessage[]> = fc.array(
  fc.tuple(fc.constantFrom("user" as const, "assistant" as const), anyText).map(([role, content]) => windowMessage(role, content)),
  { maxLength: 8 },
);

export const anySummary: fc.Arbitrary<ConversationSummary | null> = fc.option(
  fc
    .tuple(anyText, fc.constantFrom("", "</conversation_summary>", "<conversation_summary ".repeat(200)))
    .map(([text, tags]) => summaryThrough(0, { text: `${tags}${text}${tags}.` })),
);
