import type { Owner } from "../../owner.ts";
import type { Database } from "../database/database.ts";

/** The messages of an episode, or an archived memory. */
export interface EpisodeText {
  /** Of the first message, which is the episode's, or of the archived memory. */
  id: string;
  conversationId: string;
  /** Empty for an answer alone. The text of an archived memory. */
  userMessage: string;
  /** Empty for a message alone and for an archived memory. */
  assistantMessage: string;
  /** Of question and answer; of the source messages of an archived memory. */
  messageIds: string[];
  /** External ids of imported messages. */
  externalIds: string[];
  createdAt: Date;
}

const LOAD = `
select asked.id, asked.conversation_id, asked.content as user_message, answer.content as assistant_message,
  array[asked.id, answer.id] as message_ids, asked.metadata->>'external_id' as asked_external_id, answer.metadata->>'external_id' as answer_external_id, asked.created_at
from unnest($3::uuid[], $4::uuid[]) as pair (asked_id, answer_id)
join messages asked on asked.id = asked_id
join messages answer on answer.id = answer_id and answer.conversation_id = asked.conversation_id
join conversations on conversations.id = asked.conversation_id
where tenant_id = $1 and user_id = $2 and asked.completed and answer.completed and asked.id <> answer.id
union all
select said.id, conversation_id, case role when 'user' then content else '' end, case role when 'assistant' then content else '' end, array[said.id],
  said.metadata->>'external_id', null, said.created_at
from unnest($3::uuid[], $4::uuid[]) as pair (asked_id, answer_id)
join messages said on said.id = asked_id and asked_id = answer_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and completed
union all
select archived.id, conversation_id, content, '', coalesce(trigger_message_ids, array[trigger_message_id]), null, null, archived.created_at
from unnest($3::uuid[]) as pair (asked_id)
join archived_memories archived on archived.id = asked_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2`;

interface TextRow {
  id: string;
  conversation_id: string;
  user_message: string;
  assistant_message: string;
  message_ids: string[];
  asked_external_id: string | null;
  answer_external_id: string | null;
  created_at: Date;
}

function toText(row: TextRow): EpisodeText {
  return {
    id: row.id,
    conversationId: row.conversation_id,
    userMessage: row.user_message,
    assistantMessage: row.assistant_message,
    messageIds: row.message_ids,
    externalIds: [row.asked_external_id, row.answer_external_id].filter((id) => id !== null),
    createdAt: row.created_at,
  };
}

/**
 * The texts of an owner's episodes that still exist, in any order. Pairs are the ids of question and answer; of a single message or
 * archived memory its id twice.
 */
export async function loadEpisodeTexts(
  database: Database,
  { tenantId, userId }: Owner,
  pairs: readonly (readonly [string, string])[],
): Promise<EpisodeText[]> {
  if (pairs.length === 0) return [];
  const rows = await database.query<TextRow>({
    name: "episode-load",
    text: LOAD,
    values: [tenantId, userId, pairs.map(([asked]) => asked), pairs.map(([, answer]) => answer)],
  });
  return rows.map(toText);
}
