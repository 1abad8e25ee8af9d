import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import type { Database, Queryable } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { isOfPathSql, VERSION_COLUMNS } from "../paths/summary-of-path.ts";
import { countOfPathSql, MAX_BRANCHES, messagesOfPathSql, onPathSql } from "../paths/branch-path.ts";
import { lockOwnerShared } from "../paths/locks.ts";

export interface ForkRequest extends OwnedConversation {
  /** The last shared message; null: the last of the active path. */
  at: string | null;
  sessionId: string;
  /** Default: a new one. */
  id?: string;
  /** Default: none. */
  metadata?: Record<string, unknown>;
}

export interface ForkStore {
  /**
   * Makes a conversation that begins with the messages of another's path, without copies, and returns its id. Throws AppError:
   * - `not_found`;
   * - `conversation_busy` while the turn of this message runs, or when its session or id is taken;
   * - `invalid_request` when there is no message or the path has too many branches.
   */
  fork(request: ForkRequest): Promise<string>;
}

/** The message with the path that it ends. A running turn may still take its message back. */
const FIND = `
select said.id, said."createdAt", said."turnId" is not null and said."turnId" = origin.turn_id::text and turn_lease_until >= clock_timestamp() as "isBusy",
  path_through(coalesce(case when said.conversation_id = origin.id then branch_path(origin.id, coalesce(said.branch_id, origin.id)) else forks.base_path end,
    jsonb_build_object(origin.id, jsonb_build_array(said."createdAt", said.id))), said."createdAt", said.id, origin.id) as base
from conversations origin left join forks on forks.conversation_id = origin.id cross join lateral (
  select id, created_at as "createdAt", conversation_id, branch_id, metadata->>'turn_id' as "turnId" from messages
  where id = $4 and (conversation_id = origin.id or conversation_id = any(source_ids) and ${onPathSql("messages", "base_path")})
  union all
  select last.* from (${messagesOfPathSql({
    columns: `id, created_at as "createdAt", conversation_id, branch_id, metadata->>'turn_id' as "turnId"`,
    conversationId: "origin.id",
    path: "origin.path",
    where:
      "coalesce(metadata->>'turn_id', '') is distinct from case when turn_lease_until >= clock_timestamp() then origin.turn_id::text end",
    order: "desc",
    limit: "1",
  })}) last where $4::uuid is null
) said
where origin.id = $1 and tenant_id = $2 and user_id = $3`;

const ADD = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, metadata, title, title_by, active_agent, last_message_at, created_at, updated_at)
select $4, tenant_id, user_id, $5, 0, $6, title, title_by, case when $8::uuid is null then active_agent end, greatest(clock_timestamp(), $7::timestamptz + interval '1 millisecond'), clock_timestamp(), clock_timestamp()
from conversations where id = $1 and tenant_id = $2 and user_id = $3
on conflict do nothing
returning id`;

const SHARE = `
with fork as (
  insert into forks (conversation_id, origin_id, message_id, message_created_at, base_path, source_ids, created_at)
  select $1, $2, $4, $3, $5::jsonb, array(select distinct (step.value->>2)::uuid from jsonb_each($5::jsonb) step), clock_timestamp()
)
insert into branches (id, conversation_id, parent_id, fork_created_at, fork_message_id, created_at, updated_at)
values ($1, $1, (select step.key::uuid from jsonb_each($5::jsonb) step order by (step.value->>0)::timestamptz desc, (step.value->>1)::uuid desc limit 1),
  $3, $4, clock_timestamp(), clock_timestamp())`;

const SET_PATH = `
update conversations set path = target.path, remembered_path = target.path, path_message_count = ${countOfPathSql("$1::uuid", "target.path")}
from (select branch_path($1, $1) as path) target where conversations.id = $1
returning (select count(*)::int from jsonb_object_keys(target.path)) as "branchCount"`;

/** The newest version that covers nothing after the place. */
const COPY_SUMMARY = `
with kept as (
  select versions.* from conversation_summary_versions versions join conversations fork on fork.id = $1
  where versions.conversation_id = $2 and ${isOfPathSql("versions", "fork.path")} order by summary_version desc limit 1
), copied as (
  select $1::uuid as conversation_id, summary_version, summary, covered_through_created_at, covered_through_message_id, covered_message_count,
    token_count, updated_at, parts, coalesce(branch_id, conversation_id) as branch_id
  from kept
), stored as (
  insert into conversation_summary_versions (${VERSION_COLUMNS}) select ${VERSION_COLUMNS} from copied
)
insert into conversation_summaries (${VERSION_COLUMNS}, created_at) select ${VERSION_COLUMNS}, clock_timestamp() from copied`;

interface FoundPlace {
  id: string;
  createdAt: Date;
  isBusy: boolean;
  base: object;
}

async function findPlace(transaction: Queryable, { at, ...origin }: ForkRequest): Promise<FoundPlace> {
  const find = { name: "fork-find", text: FIND, values: [...ownedValues(origin), at] };
  const [place] = await transaction.query<FoundPlace>(find);
  if (place?.isBusy)
    throw new AppError("conversation_busy", `The turn of message ${place.id} has not ended. Fork at an earlier message, or after its end.`);
  if (place) return place;
  if (at === null)
    throw AppError.invalid([{ field: "at", problem: "is missing, and the conversation has no last message; fork it after its first one" }]);
  throw new AppError("not_found", `at: there is no message ${at} in this conversation`, {
    details: [{ field: "at", problem: `there is no message ${at} in this conversation` }],
  });
}

export function makeForkStore(database: Database, queue: JobQueue = makeJobQueue(database)): ForkStore {
  return {
    fork: (request) =>
      queue.transaction(async (transaction, jobs) => {
        const { tenantId, userId, conversationId: originId, sessionId, id = uuidv7(), metadata = {} } = request;
        await lockOwnerShared(transaction, request);
        const place = await findPlace(transaction, request);
        const values = [...ownedValues(request), id, sessionId, JSON.stringify(metadata), place.createdAt, request.at];
        const added = await transaction.query({ name: "fork-add", text: ADD, values });
        if (added.length === 0)
          throw new AppError("conversation_busy", `There is a conversation of session_id "${sessionId}" already. Choose another one.`, {
            retryable: false,
          });
        const shared = [id, originId, place.createdAt, place.id, JSON.stringify(place.base)];
        await transaction.query({ name: "fork-share", text: SHARE, values: shared });
        const [path] = await transaction.query<{ branchCount: number }>({ name: "fork-path", text: SET_PATH, values: [id] });
        if (path && path.branchCount > MAX_BRANCHES)
          throw new AppError(
            "invalid_request",
            `The path would have more than ${MAX_BRANCHES} branches. Import its messages into a new one.`,
          );
        await transaction.query({ name: "fork-summary", text: COPY_SUMMARY, values: [id, originId] });
        await jobs.add([{ kind: "summarise", tenantId, userId, conversationId: id }]);
        return id;
      }),
  };
}
