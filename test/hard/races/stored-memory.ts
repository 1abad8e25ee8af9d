import { expect } from "@jest/globals";
import type { SummarySettings } from "../../../memory/summary/summarise-conversation.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";

/** A conversation at one moment. A message's content is its mark; the summary's text is the marks that it covers. */
export interface StoredMemory {
  summary: { text: string; version: number; count: number; coverId: string } | null;
  messages: { id: string; mark: string; completed: boolean }[];
}

const READ = `
select
  (select json_build_object('text', summary, 'version', summary_version, 'count', covered_message_count, 'coverId', covered_through_message_id)
    from conversation_summaries where conversation_id = $1) as summary,
  (select coalesce(json_agg(json_build_object('id', id, 'mark', content, 'completed', completed) order by created_at, id), '[]')
    from messages where conversation_id = $1) as messages`;

export async function readStoredMemory(database: Database, conversationId: string): Promise<StoredMemory> {
  const [row] = await database.query<StoredMemory>({ name: "test-stored-memory", text: READ, values: [conversationId] });
  if (!row) throw new Error("a statement without from has one row");
  return row;
}

export const completedMarks = ({ messages }: StoredMemory): string[] =>
  messages.filter(({ completed }) => completed).map(({ mark }) => mark);

export const marksIn = (text: string): string[] => text.split(" ").filter(Boolean);

function coveredMarks({ summary, messages }: StoredMemory): string[] {
  if (!summary) return [];
  const end = messages.findIndex(({ id }) => id === summary.coverId) + 1;
  return completedMarks({ summary, messages: messages.slice(0, end) });
}

/** Every covered message is counted and in the text once, in order, and the newest `historyWindow` are not among them. */
export function expectCoveredOnce(stored: StoredMemory, { historyWindow }: Pick<SummarySettings, "historyWindow">): void {
  const { summary, messages } = stored;
  if (!summary) return;
  const covered = coveredMarks(stored);
  const coverPoint = messages.find(({ id }) => id === summary.coverId);
  const told = { text: marksIn(summary.text), count: summary.count, endsWith: coverPoint?.mark };
  expect(told).toEqual({ text: covered, count: covered.length, endsWith: covered.at(-1) });
  expect(covered.length).toBeLessThanOrEqual(completedMarks(stored).length - historyWindow);
}

/** From one look to the next, at most one save apart: messages are only added, versions rise by one, and the cover point with them. */
export function expectForward(before: StoredMemory, after: StoredMemory): void {
  expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages);
  const [earlier, later] = [before.summary?.version ?? 0, after.summary?.version ?? 0];
  const newlyCovered = coveredMarks(after).length - coveredMarks(before).length;
  if (later === earlier) expect(after.summary).toEqual(before.summary);
  else expect({ versions: later - earlier, covers: newlyCovered > 0 }).toEqual({ versions: 1, covers: true });
}
