import { v7 as uuidv7 } from "uuid";
import type { Job } from "../../jobs/job.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Queryable } from "../database/database.ts";

/** What the index still has: hashes and ids only. */
export interface EntriesToSweep {
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
  /** Default episodes. */
  of?: "chunks";
}

/** Seconds. The second sweep comes after jobs that wrote during the erase. */
const SWEEP_DELAYS = [5, 60];
/** Bounds the filter. */
const GROUPS_PER_JOB = 500;
/** For turns and rebuilds that run beside the erase. */
export const MARKER_LIFETIME = "30 days";
/** More than one erase adds. */
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
  const [row] = await transaction.query<{ isIndexed: boolean }>({
    name: "erase-mark",
    text: MARK,
    values: [key, JSON.stringify(markers)],
  });
  await transaction.query({
    name: "erase-prune",
    text: `delete from erase_markers where id in (
      select id from erase_markers where erased_at < clock_timestamp() - interval '${MARKER_LIFETIME}' order by erased_at limit ${PRUNE_LIMIT})`,
  });
  return row?.isIndexed ?? false;
}

export async function addSweepJobs(jobs: JobTransaction, { ownerKey: key, groupIds, episodeIds, of }: EntriesToSweep): Promise<void> {
  for (const seconds of SWEEP_DELAYS) {
    const sweeps: Job[] = [];
    for (let start = 0; start === 0 || start < groupIds.length; start += GROUPS_PER_JOB) {
      const groups = groupIds.slice(start, start + GROUPS_PER_JOB);
      const episodes = start === 0 ? episodeIds : [];
      if (groups.length + episodes.length === 0) continue;
      sweeps.push({ kind: "erase_episodes", id: uuidv7(), ownerKey: key, groupIds: groups, episodeIds: episodes, ...(of ? { of } : {}) });
    }
    await jobs.add(sweeps, seconds);
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
