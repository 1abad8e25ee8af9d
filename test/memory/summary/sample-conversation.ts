import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { beginFreely, sampleTurn } from "../../support/samples/sample-turns.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

/** A message to store; `completed` and 10 tokens unless said otherwise. */
export interface SampleMessage {
  content: string;
  completed?: boolean;
  tokenCount?: number;
}

/** As many messages as asked for, whose texts number them from `first`. */
export function numbered(count: number, first = 1): SampleMessage[] {
  return Array.from({ length: count }, (_, index) => ({ content: `message ${first + index}` }));
}

const INSERT = `
with conversation as (
  update conversations set message_count = message_count + $2, last_message_at = last_message_at + $2 * interval '1 millisecond'
  where id = $1 returning id, last_message_at - $2 * interval '1 millisecond' as before
)
insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
select gen_random_uuid(), id, case when place % 2 = 1 then 'user' else 'assistant' end, item->>'content',
  coalesce((item->>'completed')::boolean, true), coalesce((item->>'tokenCount')::int, 10), before + place * interval '1 millisecond'
from conversation, jsonb_array_elements($3::jsonb) with ordinality as listed (item, place)`;

/** Stores messages behind those that a conversation has, a user's and an assistant's in turn, all at once: a thousand take milliseconds. */
export async function addMessages(database: Database, { conversationId }: OwnedConversation, messages: SampleMessage[]): Promise<void> {
  await database.query({ text: INSERT, values: [conversationId, messages.length, JSON.stringify(messages)] });
}

/** A new conversation with just these messages. */
export async function createConversation(database: Database, messages: SampleMessage[] = []): Promise<OwnedConversation> {
  const turns = makeTurnStore(database);
  const begun = await beginFreely(turns, sampleTurn());
  await turns.finish(begun, null);
  await database.query({ text: "delete from messages where id = $1", values: [begun.messageId] });
  const { tenantId, userId, conversationId } = begun;
  const conversation = { tenantId, userId, conversationId };
  await addMessages(database, conversation, messages);
  return conversation;
}
