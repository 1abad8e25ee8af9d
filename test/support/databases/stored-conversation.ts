import { v7 as uuidv7 } from "uuid";
import type { Cursor } from "../../../stores/page.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore, type SummaryToSave } from "../../../stores/postgres/memory/summary-store.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";

const CONVERSATION = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, timestamptz '2024-01-31 12:00:00Z' + $5::int * interval '1 millisecond', now(), now())`;

const MESSAGES = `
with told as materialized (
  select turn, gen_random_uuid() as turn_id, gen_random_uuid() as question_id from generate_series(1, ($2::int + 1) / 2) turn
), said as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at)
  select case number % 2 when 1 then question_id else gen_random_uuid() end, $1, case number % 2 when 1 then 'user' else 'assistant' end,
    'message ' || number, number <> all ($3::int[]), $4, jsonb_build_object('turn_id', turn_id),
    timestamptz '2024-01-31 12:00:00Z' + number * interval '1 millisecond'
  from generate_series(1, $2::int) number join told on turn = (number + 1) / 2
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, started_at, ended_at)
select told.turn_id, tenant_id, user_id, $1, question_id, now(), now() from told join conversations on conversations.id = $1`;

export interface ConversationToStore {
  /** Messages "message 1", "message 2", … of the user and the assistant in turn, two a turn, each a millisecond after the one before. */
  count: number;
  /** Numbers of those that are not completed. Default none. */
  incomplete?: number[];
  /** Of each message. Default 2. */
  tokenCount?: number;
}

/** Writes a conversation of its own, without a lease, in one statement: of any length. */
export async function storeConversation(
  database: Database,
  { count, incomplete = [], tokenCount = 2 }: ConversationToStore,
): Promise<OwnedConversation & { sessionId: string }> {
  const conversation = { conversationId: uuidv7(), tenantId: "tenant", userId: uuidv7(), sessionId: uuidv7() };
  const { conversationId, tenantId, userId, sessionId } = conversation;
  await database.query({ text: CONVERSATION, values: [conversationId, tenantId, userId, sessionId, count] });
  await database.query({ text: MESSAGES, values: [conversationId, count, incomplete.map(String), tokenCount] });
  return conversation;
}

/** The place of "message `number`". */
export async function placeOf(database: Database, { conversationId }: OwnedConversation, number: number): Promise<Cursor> {
  const [row] = await database.query<{ id: string; created_at: Date }>({
    text: "select id, created_at from messages where conversation_id = $1 and content = $2",
    values: [conversationId, `message ${number}`],
  });
  if (!row) throw new Error(`the conversation has no message ${number}`);
  return { id: row.id, createdAt: row.created_at };
}

/** The first summary "summary 1", unless `fields` say otherwise. */
export function sampleSummary(coveredThrough: Cursor, fields: Partial<SummaryToSave> = {}): SummaryToSave {
  const readVersion = fields.readVersion ?? 0;
  return { readVersion, text: `summary ${readVersion + 1}`, tokenCount: 3, coveredThrough, addedMessageCount: 1, rewrites: 0, ...fields };
}

/** Saves the first summary, which covers the messages up to "message `number`". */
export async function summariseThrough(database: Database, conversation: OwnedConversation, number: number): Promise<void> {
  const summary = sampleSummary(await placeOf(database, conversation, number), { addedMessageCount: number });
  if (!(await makeSummaryStore(database).save(conversation, summary))) throw new Error("the summary was not saved");
}

/** "message `first`" to "message `last`". */
export const messagesFromTo = (first: number, last: number): string[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => `message ${first + index}`);
