import type { Owner } from "../../../turn/owner.ts";
import type { Role } from "../conversations/message-store.ts";
import { onAnyPathSql, onPathSql } from "../paths/branch-path.ts";
import { isAgainSql, isLiveSql, partnerIdSql } from "../conversations/exchanges.ts";
import { wordsSql } from "../conversations/picture-store.ts";
import { saidBy } from "../conversations/said-by.ts";
import type { Database } from "../database/database.ts";

export interface EpisodeText {
  /** The id of the first message, or of the archived memory. */
  id: string;
  conversationId: string;
  /** The whole text for an archived memory; empty for an answer alone. */
  userMessage: string;
  /** Without thoughts. */
  assistantMessage: string;
  /** The ids of question and answer, or of the sources of an archived memory. */
  messageIds: string[];
  externalIds: string[];
  createdAt: Date;
  /** Said within an hour before an exchange. */
  before: StoredNeighbour[];
  /** Said within an hour after it. */
  after: StoredNeighbour[];
}

export interface StoredNeighbour {
  id: string;
  role: Role;
  content: string;
  createdAt: Date;
  externalId: string | null;
  /** It came by a turn. */
  isLive: boolean;
}

/** SQL: the two messages beside a loaded exchange, in order; none beside those behind the first $5. */
const neighboursSql = (condition: string, order: "asc" | "desc"): string => `(
  select coalesce(json_agg(beside order by beside."createdAt", beside.id), '[]') from (
    select id, role, ${wordsSql("messages")} as content, created_at as "createdAt", metadata->>'external_id' as "externalId", ${isLiveSql("messages")} as "isLive"
    from messages
    where loaded.place <= $5 and conversation_id = loaded."conversationId" and completed and ${onPathSql("messages", "loaded.path")} and ${condition}
    order by created_at ${order}, id ${order} limit 2
  ) as beside
)`;

/** SQL: whether an archived memory rests on a message of its path, or on none that exists. */
const restsOnPathSql = `(path is null or coalesce((
  select bool_or(${onAnyPathSql("source", "home.path")}) from messages source join conversations home on home.id = source.conversation_id
  where source.id = any(coalesce(trigger_message_ids, array[trigger_message_id]))), true))`;

const LOAD = `
with loaded as (
select pair.place, pair.asked_id as id, answer.conversation_id as "conversationId", ${wordsSql("asked")} as "userMessage", answer.content as "assistantMessage",
  array[asked.id, answer.id] as "messageIds",
  array_remove(array[asked.metadata->>'external_id', answer.metadata->>'external_id'], null) as "externalIds", asked.created_at as "createdAt",
  answer.created_at as "lastAt", answer.id as "lastId", home.path
from unnest($3::uuid[], $4::uuid[]) with ordinality as pair (asked_id, answer_id, place)
join messages answer on answer.id = answer_id
join messages asked on asked.id = case when asked_id <> answer_id then asked_id when ${isAgainSql("answer")} then ${partnerIdSql("answer")} end
join conversations home on home.id = answer.conversation_id
join conversations on conversations.id = asked.conversation_id and (conversations.tenant_id, conversations.user_id) = (home.tenant_id, home.user_id)
where home.tenant_id = $1 and home.user_id = $2 and asked.completed and answer.completed
  and ${onAnyPathSql("asked", "conversations.path")} and ${onAnyPathSql("answer", "home.path")}
union all
select pair.place, said.id, conversation_id, case role when 'user' then ${wordsSql("said")} else '' end, case role when 'assistant' then content else '' end, array[said.id],
  array_remove(array[said.metadata->>'external_id'], null), said.created_at, said.created_at, said.id, path
from unnest($3::uuid[], $4::uuid[]) with ordinality as pair (asked_id, answer_id, place)
join messages said on said.id = asked_id and asked_id = answer_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and completed and not ${isAgainSql("said")} and ${onAnyPathSql("said", "path")}
union all
select 0, archived.id, conversation_id, content, '', coalesce(trigger_message_ids, array[trigger_message_id]), array[]::text[], archived.created_at, null, null, path
from unnest($3::uuid[]) as pair (asked_id)
join archived_memories archived on archived.id = asked_id
join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and ${restsOnPathSql}
)
select id, "conversationId", "userMessage", "assistantMessage", "messageIds", "externalIds", "createdAt",
  ${neighboursSql(`"lastId" is not null and (created_at, id) < (loaded."createdAt", loaded.id) and created_at >= loaded."createdAt" - interval '1 hour'`, "desc")} as before,
  ${neighboursSql(`(created_at, id) > ("lastAt", "lastId") and created_at <= "lastAt" + interval '1 hour'`, "asc")} as after
from loaded`;

/**
 * Loads the texts that say anything and are on their conversations' paths, in any order. A pair has the ids of question and answer; a
 * single message or archived memory has its id twice. Only the first `besides` come with what was said beside them.
 */
export async function loadEpisodeTexts(
  database: Database,
  { tenantId, userId }: Owner,
  pairs: readonly (readonly [string, string])[],
  besides = pairs.length,
): Promise<EpisodeText[]> {
  if (pairs.length === 0) return [];
  const values = [tenantId, userId, pairs.map(([asked]) => asked), pairs.map(([, answer]) => answer), besides];
  const rows = await database.query<EpisodeText>({ name: "episode-load", text: LOAD, values });
  const toNeighbours = (beside: StoredNeighbour[]): StoredNeighbour[] =>
    beside.map((one) => ({ ...one, content: saidBy(one.role, one.content), createdAt: new Date(one.createdAt) }));
  const texts = rows.map(({ assistantMessage, before, after, ...row }) => {
    return { ...row, assistantMessage: saidBy("assistant", assistantMessage), before: toNeighbours(before), after: toNeighbours(after) };
  });
  return texts.filter(({ userMessage, assistantMessage }) => userMessage !== "" || assistantMessage !== "");
}
