import { AppError } from "../../../errors/app-error.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { eraseDecisions } from "../agents/decision-store.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { exchangeIdSql, isAgainSql, partnerIdSql } from "../conversations/exchanges.ts";
import { REBUILD_SUMMARY } from "../conversations/import-store.ts";
import { FORGET_MODEL_TITLE } from "../conversations/title-store.ts";
import { lockConversation } from "../paths/locks.ts";
import { type ErasedMemory, eraseDerivedMemory } from "./erase-derived-memory.ts";
import { unlearnInForks } from "../conversations/erase-from-forks.ts";

/** Deleted rows. */
export interface Erased extends ErasedMemory {
  messages: number;
  summaries: number;
  jobs: number;
}

/** The first message of an exchange and its answers: those of all attempts on any branch and in forks, or the partner of an import. */
const EXCHANGE = `
select first.id, first.conversation_id, first.created_at, first.partner_id, coalesce(first.branch_id, first.conversation_id) as branch_id,
  array(
    select first.partner_id where first.partner_id is not null
    union select turns.answer_id from turns where question_id = first.id and turns.answer_id is not null and turns.tenant_id = $2 and turns.user_id = $3
  ) as answers,
  array(select turns.id from turns where question_id = first.id and turns.tenant_id = $2 and turns.user_id = $3) as turns,
  turn_id is not null and turn_lease_until >= clock_timestamp() as busy, path is not null or exists (select from forks where source_ids @> array[first.conversation_id]) as "isBranched"
from messages first join conversations on conversations.id = first.conversation_id
where first.id = coalesce((select ${partnerIdSql("again")} from messages again where again.id = $1 and ${isAgainSql("again")}), $1) and tenant_id = $2 and user_id = $3
  and (first.role = 'user' or first.completed and ${exchangeIdSql("first")} = first.id)`;

interface FoundExchange {
  id: string;
  conversation_id: string;
  created_at: Date;
  partner_id: string | null;
  branch_id: string;
  answers: string[];
  turns: string[];
  isBranched: boolean;
  busy: boolean;
}

const ERASE_EXCHANGE = `
with removed as (
  delete from messages where id = any($1) returning conversation_id
), counted as (
  update conversations set message_count = message_count - (select count(*) from removed where removed.conversation_id = conversations.id), path_message_count = null,
    rewrites = rewrites + 1, ${FORGET_MODEL_TITLE}, updated_at = clock_timestamp(),
    turn_id = case when id <> $2 then turn_id end, turn_lease_until = case when id <> $2 then turn_lease_until end
  where id = $2 or id in (select conversation_id from removed)
), recounted as (
  update branches set message_count = null where conversation_id = $2
), undescribed as (
  update conversation_agents set state_description = null where conversation_id = $2
)
select count(*)::int as messages from removed`;

export interface ErasedExchange {
  erased: Erased;
  /** Conversations that shared it. */
  forks: string[];
  /** The ids of answers that are their own episodes, of an imported answer older than its question, and of archived memories. */
  episodeIds: string[];
}

/** Erases an exchange by its episode's id, with all that was derived from it; null when there is none. */
export async function eraseExchange(
  transaction: Queryable,
  jobs: JobTransaction,
  owner: Owner,
  firstId: string,
  keepDecisionsDays = 0,
): Promise<ErasedExchange | null> {
  const values = [firstId, owner.tenantId, owner.userId];
  const find = () => transaction.query<FoundExchange>({ name: "erase-find-pair", text: EXCHANGE, values });
  const [first] = await find();
  if (!first) return null;
  const conversation = { ...owner, conversationId: first.conversation_id };
  const { conversationId } = conversation;
  await lockConversation(transaction, conversation);
  const [exchange] = await find(); // read under the lock
  if (!exchange) return null;
  if (exchange.busy)
    throw new AppError("conversation_busy", "The conversation of this exchange is answering a message. Delete it after its end.");
  const messageIds = [exchange.id, ...exchange.answers];
  await eraseDecisions(transaction, owner, keepDecisionsDays, { turnIds: exchange.turns });
  const erase = { name: "erase-pair", text: ERASE_EXCHANGE, values: [messageIds, conversationId] };
  const { messages } = await queryRow<{ messages: number }>(transaction, erase);
  const rebuild = { name: "import-rebuild", text: REBUILD_SUMMARY, values: [conversationId, exchange.created_at] };
  const rebuilt = await transaction.query(rebuild);
  if (rebuilt.length > 0) await jobs.add([{ kind: "summarise", ...conversation }]);
  const shared = { conversationId, from: exchange.created_at, branchIds: [exchange.branch_id] };
  const forks = await unlearnInForks(transaction, jobs, owner, shared);
  const { erased, archivedIds } = await eraseDerivedMemory(transaction, owner, { conversationId, messageIds, jobs });
  return {
    erased: { messages, summaries: rebuilt.length, ...erased, jobs: 0 },
    forks,
    episodeIds: [...(exchange.isBranched ? messageIds : []), ...(exchange.partner_id ? [exchange.partner_id] : []), ...archivedIds],
  };
}
