import type { Owner } from "../../owner.ts";
import type { Database } from "../database/database.ts";

/** The text of an episode or of an archived memory. */
export interface EpisodeText {
  /** Of the first message, or of the archived memory. */
  id: string;
  conversationId: string;
  /** Of an archived memory its whole text; empty for an answer alone. */
  userMessage: string;
  assistantMessage: string;
  /** Of question and answer, or of the sources of an archived memory. */
  messageIds: string[];
  externalIds: string[];
  createdAt: Date;
}

const LOAD = `
select asked.id, asked.conversation_id as "conversationId", asked.content as "userMessage", answer.content as "assistantMessage",
  array[asked.id, answer.id] as "messageIds",
  array_remove(array[asked.metadata->>'external_id', answer.metadata->>'external_id'], null) as "externalIds", asked.created_at as "createdAt"
from unnest($3::uuid[], $4::uuid[]) as pair (asked_id, answer_id)
join messages asked on asked.id = asked_id
join messages answer on answer.id = answer_id and answer.conversation_id = asked.conversation_id
join conversations on conversations.id = asked.conversation_id
where tenant_id = $1 and user_id = $2 and asked.completed and answer.completed and asked.id <> answer.id
union all
select said.id, conversation_id, case role when 'user' then content else '' end, case role when 'assistant' then content else '' end, array[said.id],
  array_remove(array[said.metadata->>'external_id'], null), said.created_at
from unnest($3::uuid[], $4::uuid[]) as pair (asked_id, answer_id)
join messages said on said.id = asked_id and asked_id = answer_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and completed
union all
select archived.id, conversation_id, content, '', coalesce(trigger_message_ids, array[trigger_message_id]), array[]::text[], archived.created_at
from unnest($3::uuid[]) as pair (asked_id)
join archived_memories archived on archived.id = asked_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2`;

/** Those that exist, in any order. A pair has the ids of question and answer; of a single message or archived memory its id twice. */
export async function loadEpisodeTexts(
  database: Database,
  { tenantId, userId }: Owner,
  pairs: readonly (readonly [string, string])[],
): Promise<EpisodeText[]> {
  if (pairs.length === 0) return [];
  const values = [tenantId, userId, pairs.map(([asked]) => asked), pairs.map(([, answer]) => answer)];
  return database.query<EpisodeText>({ name: "episode-load", text: LOAD, values });
}
