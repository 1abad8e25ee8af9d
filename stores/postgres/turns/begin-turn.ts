import { v7 as uuidv7 } from "uuid";
import { KeyTaken } from "../../../turn/context.ts";
import { ownerKey } from "../../index-keys.ts";
import type { JobQueue } from "../../jobs/job-queue.ts";
import type { Database, Queryable } from "../database/database.ts";
import { isUniqueViolation } from "../database/storage-errors.ts";
import { lastErasureSql } from "../memory/core-memory-store.ts";
import { beginOnBranch } from "./branch-turn.ts";
import { isTakingBack } from "../../../turn/turn-input.ts";
import { continueAnswer } from "./continue-answer.ts";
import { ownerLock, shareOwner } from "../paths/locks.ts";
import { type BeginTurn, type BegunTurn, refuseTakenKey, retryTurn } from "./recover-turn.ts";
import { questionMetadata } from "../../../turn/outcome.ts";
import { storePictures } from "../conversations/picture-store.ts";
import { firstPage, newestSql, type WindowRequest } from "./window-store.ts";

const NEWEST = newestSql("(select id from before)", "(select path from before)", {
  useSummary: "$13",
  except: "$7",
  limit: "$14",
  ownerKey: "$15",
});

/**
 * It does not see what it waited for. So it returns the newest messages only when nothing was erased and nothing else changed in the
 * conversation since the statement began (docs/decisions/0036). $13 is null when they are not wanted.
 */
const BEGIN = `
with ${shareOwner(10)}, before as materialized (
  select id, message_count, rewrites, imported_count, path from conversations where tenant_id = $2 and user_id = $3 and session_id = $4
), conversation as (
  insert into conversations (id, tenant_id, user_id, session_id, turn_id, turn_lease_until, message_count, last_message_at, created_at, updated_at)
  select $1::uuid, $2, $3, $4, $5::uuid, clock_timestamp() + $6 * interval '1 millisecond', 1, clock_timestamp(), clock_timestamp(), clock_timestamp()
  from guard
  on conflict (tenant_id, user_id, session_id) do update
    set turn_id = excluded.turn_id,
        turn_runner = null,
        turn_lease_until = excluded.turn_lease_until,
        message_count = conversations.message_count + 1,
        path_message_count = conversations.path_message_count + 1,
        last_message_at = greatest(clock_timestamp(), conversations.last_message_at + interval '1 millisecond'),
        updated_at = clock_timestamp()
    where conversations.turn_id is null or conversations.turn_lease_until < clock_timestamp()
  returning id, last_message_at, message_count, rewrites, imported_count, last_prompt, active_branch_id
), asked as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at, branch_id)
  select $7, id, 'user', $8, not $16::jsonb ? 'remember', $9, $16::jsonb || jsonb_build_object('turn_id', $5::uuid), last_message_at, active_branch_id from conversation
  returning id, conversation_id, created_at, branch_id
), begun as (
  insert into turns (id, tenant_id, user_id, conversation_id, question_id, key_hash, body_hash, started_at, branch_id)
  select $5::uuid, $2, $3, conversation_id, id, $11, $12, created_at, branch_id from asked
  returning conversation_id
)
select conversation_id as "conversationId", conversation.last_prompt as "lastPrompt", case
  when $13::boolean is not null and conversation.message_count = coalesce(before.message_count, 0) + 1
    and conversation.rewrites = coalesce(before.rewrites, 0) and conversation.imported_count = coalesce(before.imported_count, 0)
    and last_erasure_of($15) is not distinct from ${lastErasureSql("$15")}
  then (select row_to_json(newest) from (${NEWEST}) newest)
end as newest
from begun cross join conversation left join before on true`;

const KEY_INDEX = "turns_by_key";

/** See `TurnStore.begin`. */
export async function beginTurn(
  database: Database,
  queue: JobQueue,
  turn: BeginTurn,
  window: Pick<WindowRequest, "atLeast" | "useSummary"> | undefined,
): Promise<BegunTurn | null> {
  const { tenantId, userId, sessionId, turnId, leaseMs, message, pictures = [], tokenCount, key, continues = null } = turn;
  if (key?.earlier && continues === null) return retryTurn(database, turn, { ...key, earlier: key.earlier });
  const messageId = uuidv7();
  const stored = [uuidv7(), tenantId, userId, sessionId, turnId, leaseMs, messageId, message, tokenCount];
  const newest = [window?.useSummary ?? null, window ? firstPage(window) + 1 : 0, ownerKey(tenantId, userId)];
  const values = [
    ...stored,
    ownerLock({ tenantId, userId }),
    key?.keyHash ?? null,
    key?.bodyHash ?? null,
    ...newest,
    questionMetadata(turn),
  ];
  try {
    if (continues !== null) {
      const begun = await database.transaction((transaction) => continueAnswer(transaction, { ...turn, continues }));
      if (begun) return begun;
    } else if (isTakingBack(turn)) {
      const begun = await queue.transaction((transaction, jobs) => beginOnBranch(transaction, jobs, turn));
      if (begun) return begun;
    } else {
      const begin = async (where: Queryable) =>
        (await where.query<Omit<BegunTurn, "messageId">>({ name: "turn-begin", text: BEGIN, values }))[0];
      const beginWithPictures = async (transaction: Queryable) => {
        const row = await begin(transaction);
        if (row) await storePictures(transaction, turn, { ...row, messageId }, pictures);
        return row;
      };
      const row = await (pictures.length === 0 ? begin(database) : database.transaction(beginWithPictures));
      if (row) return { ...row, messageId };
    }
  } catch (error) {
    throw isUniqueViolation(error, KEY_INDEX) ? new KeyTaken() : error;
  }
  if (key) await refuseTakenKey(database, turn, key.keyHash);
  return null;
}
