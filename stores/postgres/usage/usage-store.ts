import type { ModelPurpose } from "../../../observe/observer.ts";
import type { Owner } from "../../../turn/owner.ts";
import { ownerKey } from "../../index-keys.ts";
import { ownerLock } from "../paths/locks.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";

/** The use of a model's calls. Dollars cover the calls with a known price. */
export interface CallTotals {
  calls: number;
  estimatedCalls: number;
  unpricedCalls: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  inputUsd: number;
  outputUsd: number;
}

/** Calls of one purpose to add. `began`: by `performance.now()`, no later than the first call's turn or job. */
export interface UsedCalls extends Owner, CallTotals {
  day: string;
  model: string;
  purpose: ModelPurpose;
  began: number;
}

export type UsageKey = "user" | "model" | "day";

export interface UsageRequest {
  tenantId: string;
  by: UsageKey;
  /** Days of UTC, both included. */
  from: string;
  to: string;
  /** Null: all users. */
  userId: string | null;
  /** Null: from the start. */
  after: string | null;
  limit: number;
}

/** By purpose. The key is a user's id ('' for all who were erased), a model's name or a day. */
export interface UsageOfKey {
  key: string;
  purposes: (CallTotals & { purpose: ModelPurpose })[];
}

export interface UsageStore {
  /** Adds to what all processes have written. Calls of a user erased since they began name no user. */
  add(used: readonly UsedCalls[]): Promise<void>;
  /** In the order of the keys; one more than the limit when there are more. */
  list(request: UsageRequest): Promise<UsageOfKey[]>;
  costOfDay(tenantId: string, day: string): Promise<number>;
}

/**
 * Erases wait: the next statement sees what they have erased. One order, so that two processes never wait for each other. Ages are measured
 * by the database's time after the lock: a wait makes no call younger.
 */
const LOCK = `
with locked as materialized (
  select pg_advisory_xact_lock_shared(lock) from (select distinct lock from unnest($1::bigint[]) lock order by lock) locks
)
select (select count(*) from locked), clock_timestamp() as "lockedAt"`;

const COUNTS = "calls, estimated_calls, unpriced_calls, prompt_tokens, completion_tokens, cached_tokens, input_usd, output_usd";
const KEYS = "tenant_id, day, user_id, model, purpose";
const columns = COUNTS.split(", ");
const sums = columns.map((column) => `sum(${column})`).join(", ");
const ADD_UP = `on conflict (${KEYS}) do update set ${columns.map((column) => `${column} = kept.${column} + excluded.${column}`).join(", ")}`;

const ADD = `
insert into model_usage as kept (${KEYS}, ${COUNTS})
select ${KEYS}, ${sums} from (
  select tenant_id, day, case when exists (
      select from erase_markers where erase_markers.owner_key = given.owner_key and group_id is null and episode_id is null
        and erased_at > $2::timestamptz - age_ms * interval '1 millisecond') then '' else user_id end as user_id,
    model, purpose, ${COUNTS}
  from jsonb_to_recordset($1::jsonb) as given (tenant_id text, day date, user_id text, owner_key text, age_ms float8, model text, purpose text,
    ${columns.map((column) => `${column} ${column.endsWith("_usd") ? "float8" : "bigint"}`).join(", ")})
) named group by ${KEYS} order by ${KEYS}
${ADD_UP}`;

const FOLD = `
with gone as (delete from model_usage where tenant_id = $1 and user_id = $2 returning *)
insert into model_usage as kept (${KEYS}, ${COUNTS})
select tenant_id, day, '', model, purpose, ${COUNTS} from gone order by day, model, purpose
${ADD_UP}`;

/** Removes the user's name from the usage. The tenant's sums stay. Needs the owner's lock. */
export async function forgetWhoUsed(transaction: Queryable, { tenantId, userId }: Owner): Promise<void> {
  await transaction.query({ name: "usage-forget", text: FOLD, values: [tenantId, userId] });
}

const KEY_COLUMNS = { user: "user_id", model: "model", day: "day::text" } as const satisfies Record<UsageKey, string>;

const listSql = (key: string): string => `
with found as (
  select ${key} as key, purpose, ${columns.map((column) => `sum(${column})::float8 as ${column}`).join(", ")} from model_usage
  where tenant_id = $1 and day between $2 and $3 and ($4::text is null or user_id = $4) and ($5::text is null or ${key} > $5)
  group by 1, 2
)
select key, json_agg(json_build_object('purpose', purpose, 'calls', calls, 'estimatedCalls', estimated_calls, 'unpricedCalls', unpriced_calls,
  'promptTokens', prompt_tokens, 'completionTokens', completion_tokens, 'cachedTokens', cached_tokens, 'inputUsd', input_usd, 'outputUsd', output_usd)
  order by purpose) as purposes
from found group by key order by key limit $6`;

const COST = `
select coalesce(sum(input_usd + output_usd), 0) as usd from model_usage where tenant_id = $1 and day = $2`;

const toRow = (used: UsedCalls, now: number) => ({
  tenant_id: used.tenantId,
  day: used.day,
  user_id: used.userId,
  owner_key: ownerKey(used.tenantId, used.userId),
  age_ms: now - used.began,
  model: used.model,
  purpose: used.purpose,
  calls: used.calls,
  estimated_calls: used.estimatedCalls,
  unpriced_calls: used.unpricedCalls,
  prompt_tokens: used.promptTokens,
  completion_tokens: used.completionTokens,
  cached_tokens: used.cachedTokens,
  input_usd: used.inputUsd,
  output_usd: used.outputUsd,
});

export function makeUsageStore(database: Database): UsageStore {
  return {
    add: (used) =>
      database.transaction(async (transaction) => {
        const lock = { name: "usage-lock", text: LOCK, values: [used.map(ownerLock)] };
        const { lockedAt } = await queryRow<{ lockedAt: Date }>(transaction, lock);
        const now = performance.now();
        const rows = JSON.stringify(used.map((one) => toRow(one, now)));
        await transaction.query({ name: "usage-add", text: ADD, values: [rows, lockedAt] });
      }),

    list({ tenantId, by, from, to, userId, after, limit }) {
      const values = [tenantId, from, to, userId, after, limit + 1];
      return database.query<UsageOfKey>({ name: `usage-by-${by}`, text: listSql(KEY_COLUMNS[by]), values });
    },

    async costOfDay(tenantId, day) {
      return (await queryRow<{ usd: number }>(database, { name: "usage-cost", text: COST, values: [tenantId, day] })).usd;
    },
  };
}

export interface TokenUsageStore {
  /** Returns the sum of a tenant and UTC day (YYYY-MM-DD) over all processes; 0 only reads. */
  add(tenantId: string, day: string, tokens: number): Promise<number>;
}

const ADD_TOKENS = `
insert into token_usage as existing (tenant_id, day, tokens) values ($1, $2, $3)
on conflict (tenant_id, day) do update set tokens = existing.tokens + excluded.tokens
returning tokens::text`;

const READ_TOKENS = "select tokens::text from token_usage where tenant_id = $1 and day = $2";

export function makeTokenUsageStore(database: Database): TokenUsageStore {
  return {
    async add(tenantId, day, tokens) {
      const [row] = await database.query<{ tokens: string }>(
        tokens > 0
          ? { name: "token-usage-add", text: ADD_TOKENS, values: [tenantId, day, tokens] }
          : { name: "token-usage-read", text: READ_TOKENS, values: [tenantId, day] },
      );
      return Number(row?.tokens ?? 0);
    },
  };
}
