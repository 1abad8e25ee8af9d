import { v7 as uuidv7 } from "uuid";
import type { EraseEpisodesJob, Job } from "../../jobs/job.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import { ownerKey } from "../../index-keys.ts";
import { type Queryable, queryRow } from "../database/database.ts";

/** Entries still in the index: hashes and ids only. */
export type EntriesToSweep = Omit<EraseEpisodesJob, "kind" | "id">;

/** Seconds. The second sweep comes after jobs that wrote during the erase. */
const SWEEP_DELAYS = [5, 60];

const GROUPS_PER_JOB = 500;

/** Long enough for turns and rebuilds that run beside the erase. */
export const MARKER_LIFETIME = "30 days";

/** Larger than what one erase adds, so that old markers become fewer. */
const PRUNE_LIMIT = 10_000;

const MARK = `
with marked as (
  insert into erase_markers (id, owner_key, group_id, episode_id, erased_at)
  select id, $1, group_id, episode_id, clock_timestamp()
  from jsonb_to_recordset($2::jsonb) as given (id uuid, group_id uuid, episode_id uuid)
)
select exists (select from search_indexes) as "isIndexed"`;

/** Returns whether there is an index. `isWhole` adds a marker of the whole owner. */
export async function addMarkers(
  transaction: Queryable,
  { ownerKey: key, groupIds, episodeIds }: EntriesToSweep,
  { isWhole = false }: { isWhole?: boolean } = {},
): Promise<boolean> {
  const markers = [
    ...(isWhole ? [{ id: uuidv7() }] : []),
    ...groupIds.map((group_id) => ({ id: uuidv7(), group_id })),
    ...episodeIds.map((episode_id) => ({ id: uuidv7(), episode_id })),
  ];
  const mark = { name: "erase-mark", text: MARK, values: [key, JSON.stringify(markers)] };
  const { isIndexed } = await queryRow<{ isIndexed: boolean }>(transaction, mark);
  await transaction.query({
    name: "erase-prune",
    text: `delete from erase_markers where id in (
      select id from erase_markers where erased_at < clock_timestamp() - interval '${MARKER_LIFETIME}' order by erased_at limit ${PRUNE_LIMIT})`,
  });
  return isIndexed;
}

export async function addSweepJobs(jobs: JobTransaction, entries: EntriesToSweep): Promise<void> {
  const { groupIds, episodeIds } = entries;
  for (const seconds of SWEEP_DELAYS) {
    const sweeps: Job[] = [];
    for (let start = 0; start === 0 || start < groupIds.length; start += GROUPS_PER_JOB) {
      const groups = groupIds.slice(start, start + GROUPS_PER_JOB);
      const episodes = start === 0 ? episodeIds : [];
      if (groups.length + episodes.length === 0) continue;
      sweeps.push({ kind: "erase_episodes", id: uuidv7(), ...entries, groupIds: groups, episodeIds: episodes });
    }
    await jobs.add(sweeps, () => seconds);
  }
  if (groupIds.length + episodeIds.length > 0) await jobs.addVacuum();
}

/** Returns whether there is an index. */
export async function addMarkersAndSweeps(
  transaction: Queryable,
  jobs: JobTransaction,
  entries: EntriesToSweep,
  whole: { isWhole?: boolean } = {},
): Promise<boolean> {
  const isIndexed = await addMarkers(transaction, entries, whole);
  await addSweepJobs(jobs, entries);
  return isIndexed;
}

/** The tenant of soft-deleted rows, which no caller has. The id of the erasure replaces user or knowledge base. */
export const ERASED_TENANT = "";

export const ERASE_BATCH_ROWS = 5_000;

export interface Erasure {
  id: string;
  tenantId: string;
  ownerKey: string;
  /** Null for the whole owner. */
  conversationId: string | null;
}

const RECORD = `
insert into erasures as existing (id, tenant_key, owner_key, conversation_id, all_messages, core_memory_sections, memory_operations, jobs, started_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
on conflict (id) do update set all_messages = existing.all_messages + excluded.all_messages, core_memory_sections = existing.core_memory_sections + excluded.core_memory_sections,
  memory_operations = existing.memory_operations + excluded.memory_operations, jobs = existing.jobs + excluded.jobs, finished_at = null, told_at = null`;

export interface SoftDeletedCounts {
  messages: number;
  coreMemorySections: number;
  memoryOperations: number;
  jobs: number;
}

/** Locks the row before the job is added: a job that ends now sees the new rows. */
export async function recordErasure(
  transaction: Queryable,
  jobs: JobTransaction,
  { id, tenantId, ownerKey: key, conversationId }: Erasure,
  { messages, coreMemorySections, memoryOperations, jobs: erasedJobs }: SoftDeletedCounts,
): Promise<void> {
  const counts = [messages, coreMemorySections, memoryOperations, erasedJobs];
  await transaction.query({ name: "erasure-record", text: RECORD, values: [id, ownerKey(tenantId), key, conversationId, ...counts] });
  await jobs.add([{ kind: "erase", id }]);
  await jobs.addVacuum();
}
