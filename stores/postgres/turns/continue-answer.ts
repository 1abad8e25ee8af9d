import { AppError } from "../../../errors/app-error.ts";
import { storableJson } from "../../../text/storable-text.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import { NOT_REMEMBERED } from "../../../turn/outcome.ts";
import type { Queryable } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { onPathSql } from "../paths/branch-path.ts";
import { isLiveSql, partnerIdSql } from "../conversations/exchanges.ts";
import { REBUILD_SUMMARY } from "../conversations/import-store.ts";
import { lockOwnerShared } from "../paths/locks.ts";
import { saidBy } from "../conversations/said-by.ts";
import type { Owner } from "../../../turn/owner.ts";
import {
  type AnswerToStore,
  type BeginTurn,
  type BegunTurn,
  type ContinuedAnswer,
  type HeldTurn,
  RELEASE_KEY,
  takeOver,
} from "./recover-turn.ts";

const LOCK_SESSION = `
select id, coalesce(turn_lease_until >= clock_timestamp(), false) as "isBusy" from conversations
where tenant_id = $1 and user_id = $2 and session_id = $3 for update`;

/** Empty when the last message is no turn's answer, left no memory, or belongs to another branch or fork too. */
const LAST_ANSWER = `
select said.id as "answerId", said.content as text, said.completed, coalesce(said.metadata->'citations', '[]') as citations, asked.id as "messageId", asked.content as question
from (
  select messages.* from messages join conversations on conversations.id = messages.conversation_id
  where conversations.id = $1 and tenant_id = $2 and user_id = $3 and ${onPathSql("messages", "conversations.path")}
  order by messages.created_at desc, messages.id desc limit 1
) said
join messages asked on asked.id = ${partnerIdSql("said")}
where said.role = 'assistant' and ${isLiveSql("said")} and not said.metadata @> '${JSON.stringify(NOT_REMEMBERED)}'
  and said.branch_id is not distinct from (select active_branch_id from conversations where id = $1)
  and not exists (select from branches where conversation_id = $1 and fork_message_id = said.id)
  and not exists (select from forks where source_ids @> array[$1::uuid] and message_created_at >= said.created_at)`;

type LastAnswer = ContinuedAnswer & { messageId: string };

/** A reader who stopped an answer has seen its beginning, with its thoughts or without them. */
function textSoFar({ text, completed }: ContinuedAnswer, shown: string): string | null {
  const [said, seen] = [saidBy("assistant", text), saidBy("assistant", shown)];
  if (said.trim() === seen.trim()) return said;
  return !completed && said.startsWith(seen) ? seen : null;
}

/** Throws AppError `invalid_request` unless `shown` is the last answer, or the beginning of one that was cut short. */
export async function findContinued(
  where: Queryable,
  { tenantId, userId }: Owner,
  conversationId: string | undefined,
  shown: string,
): Promise<LastAnswer> {
  const look = { name: "continue-look", text: LAST_ANSWER, values: [conversationId ?? null, tenantId, userId] };
  const [last] = await where.query<LastAnswer>(look);
  const text = last ? textSoFar(last, shown) : null;
  if (last && text !== null) return { ...last, text };
  const what = last
    ? "is not the last answer of this conversation as it is stored; send that answer unchanged"
    : "has nothing to go on with: the last message that is stored of this conversation is no answer of the service";
  throw new AppError("invalid_request", `${what}. To say something new, send what the user says as the last message.`);
}

/** Takes the conversation once more for the question of its last answer; null while another turn holds it. */
export async function continueAnswer(transaction: Queryable, turn: BeginTurn & { continues: string }): Promise<BegunTurn | null> {
  const { tenantId, userId, sessionId, continues, key } = turn;
  await lockOwnerShared(transaction, turn);
  const lock = { name: "continue-lock", text: LOCK_SESSION, values: [tenantId, userId, sessionId] };
  const [conversation] = await transaction.query<{ id: string; isBusy: boolean }>(lock);
  if (conversation?.isBusy) return null;
  const { messageId, ...continued } = await findContinued(transaction, turn, conversation?.id, continues);
  const begun = { conversationId: conversation?.id ?? "", messageId };
  if (key?.earlier) await transaction.query({ name: "turn-retry-leave", text: RELEASE_KEY, values: [key.earlier.turnId] });
  await takeOver(transaction, turn, begun);
  return { ...begun, continued };
}

/** Moves the answer to the end, so that summary and index read it as new. */
const GROW = `
with held as (
  update conversations set last_message_at = greatest(clock_timestamp(), last_message_at + interval '1 millisecond'), rewrites = rewrites + 1
  where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4
  returning id, last_message_at
), before as materialized (
  select id, created_at from messages where id = $5 and conversation_id = $1
), grown as (
  update messages
    set content = $6, completed = $7, token_count = $8, metadata = $9::jsonb || jsonb_build_object('turn_id', $4::uuid), created_at = last_message_at
  from held where messages.id = $5 and conversation_id = held.id
  returning messages.created_at
)
select before.created_at as "from", grown.created_at as "to" from before cross join grown`;

/** The memory agent reads known text again as a turn to reread: then it omits what people removed. */
const READ_AGAIN = `
with read as (
  update memory_cursors set read_through_created_at = $3 where conversation_id = $1 and read_through_message_id = $2 returning conversation_id
)
insert into turns_to_read_again (message_id, conversation_id, noted_at) select $4, conversation_id, clock_timestamp() from read
on conflict (message_id) do nothing`;

/** False, and nothing is written, when the turn no longer holds its conversation. */
export async function growAnswer(
  transaction: Queryable,
  jobs: JobTransaction,
  held: HeldTurn,
  { messageId, userMessageId, content, completed, tokenCount, metadata }: AnswerToStore,
): Promise<boolean> {
  const { tenantId, userId, conversationId, turnId } = held;
  await lockOwnerShared(transaction, held);
  const values = [...ownedValues(held), turnId, messageId, content, completed, tokenCount, storableJson(metadata)];
  const [moved] = await transaction.query<{ from: Date; to: Date }>({ name: "continue-grow", text: GROW, values });
  if (!moved) return false;
  const again = [conversationId, messageId, moved.to, userMessageId ?? null];
  await transaction.query({ name: "continue-read-again", text: READ_AGAIN, values: again });
  const rebuild = { name: "import-rebuild", text: REBUILD_SUMMARY, values: [conversationId, moved.from] };
  if ((await transaction.query(rebuild)).length > 0) await jobs.add([{ kind: "summarise", tenantId, userId, conversationId }]);
  return true;
}
