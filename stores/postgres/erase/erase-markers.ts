import { v7 as uuidv7 } from "uuid";
import type { Job } from "../../jobs/job.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Queryable } from "../database/database.ts";

/** What the index still has of it: hashes and ids only. */
export interface EntriesToSweep {
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
  /** Which of the indexes; episodes unless it says otherwise. */
  of?: "chunks";
}

/** Seconds after which the index is cleared, and once more: by then what was at work on it when its job was erased is over. */
const SWEEPS = [5, 60];
/** Groups that one job clears: a filter of a bearable length. */
const GROUPS_A_JOB = 500;
/** Markers are of use for as long as a turn or a rebuild of the index takes. */
export const MARKER_LIFETIME = "30 days";
/** Old markers that one erase takes away: more than it leaves. */
const PRUNED_AT_ONCE = 10_000;

const MARK = `
with marked as (
  insert into erase_markers (id, owner_key, group_id, episode_id, erased_at)
  select id, $1, group_id, episode_id, clock_timestamp()
  from jsonb_to_recordset($2::jsonb) as given (id uuid, group_id uuid, episode_id uuid)
)
select exists (select from search_indexes) as "isIndexed"`;

/** Leaves markers in the transaction that erases; `isWhole`: everything of the owner went. Returns whether there is an index at all that may hold some of it. */
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
      select id from erase_markers where erased_at < clock_timestamp() - interval '${MARKER_LIFETIME}' order by erased_at limit ${PRUNED_AT_ONCE})`,
  });
  return row?.isIndexed ?? false;
}

/** Adds the jobs that clear the index, one for every so many groups and each sweep, and the one that clears the files of an embedded database. */
export async function addSweepJobs(jobs: JobTransaction, { ownerKey: key, groupIds, episodeIds, of }: EntriesToSweep): Promise<void> {
  for (const seconds of SWEEPS) {
    const sweeps: Job[] = [];
    for (let start = 0; start === 0 || start < groupIds.length; start += GROUPS_A_JOB) {
      const groups = groupIds.slice(start, start + GROUPS_A_JOB);
      const episodes = start === 0 ? episodeIds : [];
      if (groups.length + episodes.length === 0) continue;
      sweeps.push({ kind: "erase_episodes", id: uuidv7(), ownerKey: key, groupIds: groups, episodeIds: episodes, ...(of ? { of } : {}) });
    }
    await jobs.add(sweeps, seconds);
  }
  if (groupIds.length + episodeIds.length > 0) await jobs.addVacuum();
}

/** Leaves markers, and jobs that clear the index, in the transaction that erases. Returns whether there is an index. */
export async function addMarkersAndSweeps(
  transaction: Queryable,
  jobs: JobTransaction,
  left: EntriesToSweep,
  whole: { isWhole?: boolean } = {},
): Promise<boolean> {
  const isIndexed = await addMarkers(transaction, left, whole);
  await addSweepJobs(jobs, left);
  return isIndexed;
}
