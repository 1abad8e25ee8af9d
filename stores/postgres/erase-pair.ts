import { AppError } from "../../errors/app-error.ts";
import type { JobTransaction } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import type { Queryable } from "./database.ts";
import { REBUILD_SUMMARY } from "./import-store.ts";
import { lockConversation } from "./lock-conversation.ts";
import { unlearn } from "./unlearn.ts";

/** How much of each kind is gone from Postgres. */
export interface Erased {
  messages: number;
  summaries: number;
  coreMemorySections: number;
  memoryOperations: number;
  jobs: number;
}

/** An answer comes this many messages behind its question at most: late, behind others of a turn that took over, or of an import. */
const ANSWER_WITHIN = 50;

/**
 * The answer of the same turn; of imported messages, which have no turn, the one right behind. `attempts`: what other attempts at the same
 * question have said.
 */
const PAIR = `
select asked.conversation_id, asked.created_at, answer.id as answer_id,
  array(select turns.answer_id from turns where question_id = asked.id and turns.answer_id is not null) as attempts, (
    select id from messages before_it
    where before_it.conversation_id = asked.conversation_id and completed
      and (before_it.created_at, before_it.id) < (answer.created_at, answer.id) order by before_it.created_at desc, before_it.id desc limit 1
  ) as episode_id,
  turn_id is not null and turn_lease_until >= clock_timestamp() as busy
from messages asked join conversations on conversations.id = asked.conversation_id
left join lateral (
  select id, created_at from (
    select id, role, completed, metadata, created_at from messages
    where conversation_id = asked.conversation_id and (created_at, id) > (asked.created_at, asked.id) order by created_at, id limit ${ANSWER_WITHIN}
  ) following
  where role = 'assistant' and (
    metadata->>'turn_id' = asked.metadata->>'turn_id'
    or not asked.metadata ? 'turn_id' and not metadata ? 'turn_id' and not exists (
      select from messages between_them
      where conversation_id = asked.conversation_id and completed
        and (between_them.created_at, between_them.id) > (asked.created_at, asked.id)
        and (between_them.created_at, between_them.id) < (following.created_at, following.id)))
  order by created_at, id limit 1
) answer on true
where asked.id = $1 and asked.role = 'user' and tenant_id = $2 and user_id = $3`;

const ERASE_PAIR = `
with removed as (
  delete from messages where id = any($1) and conversation_id = $2 returning 1
), counted as (
  update conversations set message_count = message_count - (select count(*) from removed), rewrites = rewrites + 1, turn_id = null, turn_lease_until = null, updated_at = clock_timestamp() where id = $2
)
select count(*)::int as messages from removed`;

export interface ErasedPair {
  erased: Erased;
  /** The episode that holds the answer: of the message right before it, which an import may have put there. None without an answer. */
  episodeIds: string[];
}

/**
 * Deletes a user's message with its answers and all that came of it, its turns among them; null when there is no such message. Whoever still answers that question
 * without its lease no longer holds the conversation.
 */
export async function erasePair(transaction: Queryable, jobs: JobTransaction, owner: Owner, askedId: string): Promise<ErasedPair | null> {
  const find = async () => {
    const [found] = await transaction.query<{
      conversation_id: string;
      created_at: Date;
      answer_id: string | null;
      attempts: string[];
      episode_id: string | null;
      busy: boolean;
    }>({
      name: "erase-find-pair",
      text: PAIR,
      values: [askedId, owner.tenantId, owner.userId],
    });
    return found;
  };
  const first = await find();
  if (!first) return null;
  const conversation = { ...owner, conversationId: first.conversation_id };
  await lockConversation(transaction, conversation);
  const pair = await find(); // as it is now that nothing can be added
  if (!pair) return null;
  if (pair.busy)
    throw new AppError("conversation_busy", "The conversation of this exchange is answering a message. Delete it after its end.");
  const messageIds = [...new Set([askedId, ...(pair.answer_id ? [pair.answer_id] : []), ...pair.attempts])];
  const [row] = await transaction.query<{ messages: number }>({
    name: "erase-pair",
    text: ERASE_PAIR,
    values: [messageIds, conversation.conversationId],
  });
  const rebuilt = await transaction.query({
    name: "import-rebuild",
    text: REBUILD_SUMMARY,
    values: [conversation.conversationId, pair.created_at],
  });
  if (rebuilt.length > 0) await jobs.add([{ kind: "summarise", ...conversation }]);
  const { sections, operations } = await unlearn(transaction, owner, { conversationId: conversation.conversationId, messageIds });
  return {
    erased: {
      messages: row?.messages ?? 0,
      summaries: rebuilt.length,
      coreMemorySections: sections,
      memoryOperations: operations,
      jobs: 0,
    },
    episodeIds: pair.episode_id ? [pair.episode_id] : [],
  };
}
