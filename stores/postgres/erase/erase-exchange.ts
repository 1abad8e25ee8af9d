import { AppError } from "../../../errors/app-error.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../owner.ts";
import type { Queryable } from "../database/database.ts";
import { exchangeIdSql } from "../conversations/exchanges.ts";
import { REBUILD_SUMMARY } from "../conversations/rewind-cursors.ts";
import { lockConversation } from "../conversations/locks.ts";
import { eraseDerivedMemory } from "./erase-derived-memory.ts";

/** Deleted rows. */
export interface Erased {
  messages: number;
  summaries: number;
  coreMemorySections: number;
  memoryOperations: number;
  jobs: number;
}

/** The first message of an exchange and its answers: those of each attempt of a turn, or the partner of an import. */
const EXCHANGE = `
select first.conversation_id, first.created_at, first.partner_id,
  array(
    select first.partner_id where first.partner_id is not null
    union select turns.answer_id from turns where question_id = first.id and turns.answer_id is not null
  ) as answers,
  turn_id is not null and turn_lease_until >= clock_timestamp() as busy
from messages first join conversations on conversations.id = first.conversation_id
where first.id = $1 and tenant_id = $2 and user_id = $3
  and (first.role = 'user' or first.completed and ${exchangeIdSql("first")} = first.id)`;

const ERASE_EXCHANGE = `
with removed as (
  delete from messages where id = any($1) and conversation_id = $2 returning 1
), counted as (
  update conversations set message_count = message_count - (select count(*) from removed), rewrites = rewrites + 1, turn_id = null, turn_lease_until = null, updated_at = clock_timestamp() where id = $2
)
select count(*)::int as messages from removed`;

export interface ErasedExchange {
  erased: Erased;
  /** Of an imported answer that came before its question, and archived memories. */
  episodeIds: string[];
}

/** By the id of its first message, with all that was derived from it; null when there is none. */
export async function eraseExchange(
  transaction: Queryable,
  jobs: JobTransaction,
  owner: Owner,
  firstId: string,
): Promise<ErasedExchange | null> {
  const find = async () => {
    const [found] = await transaction.query<{
      conversation_id: string;
      created_at: Date;
      partner_id: string | null;
      answers: string[];
      busy: boolean;
    }>({
      name: "erase-find-pair",
      text: EXCHANGE,
      values: [firstId, owner.tenantId, owner.userId],
    });
    return found;
  };
  const first = await find();
  if (!first) return null;
  const conversation = { ...owner, conversationId: first.conversation_id };
  await lockConversation(transaction, conversation);
  const exchange = await find(); // as it is under the lock
  if (!exchange) return null;
  if (exchange.busy)
    throw new AppError("conversation_busy", "The conversation of this exchange is answering a message. Delete it after its end.");
  const messageIds = [firstId, ...exchange.answers];
  const [row] = await transaction.query<{ messages: number }>({
    name: "erase-pair",
    text: ERASE_EXCHANGE,
    values: [messageIds, conversation.conversationId],
  });
  const rebuilt = await transaction.query({
    name: "import-rebuild",
    text: REBUILD_SUMMARY,
    values: [conversation.conversationId, exchange.created_at],
  });
  if (rebuilt.length > 0) await jobs.add([{ kind: "summarise", ...conversation }]);
  const about = { conversationId: conversation.conversationId, messageIds, jobs };
  const { sections, operations, archivedIds } = await eraseDerivedMemory(transaction, owner, about);
  return {
    erased: {
      messages: row?.messages ?? 0,
      summaries: rebuilt.length,
      coreMemorySections: sections,
      memoryOperations: operations,
      jobs: 0,
    },
    episodeIds: [...(exchange.partner_id ? [exchange.partner_id] : []), ...archivedIds],
  };
}
