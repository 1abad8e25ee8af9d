import type { Database } from "./database.ts";

/** What came of a turn, and its key, are kept for so long after it began. */
export const OUTCOMES_KEPT = "24 hours";

/** Milliseconds between two looks of a process for what is older. */
const LOOK_EVERY_MS = 5 * 60_000;
/** Turns emptied at once: some ten milliseconds. */
const AT_ONCE = 1_000;

/** What is left of a turn whose outcome and key are no longer kept. */
export const EMPTIED = "outcome = null, key_hash = null, body_hash = null, emptied_at = clock_timestamp()";

/** Those that never began, and only hold their id, go. */
const EMPTY = `
with old as (
  select id, question_id from turns where emptied_at is null and started_at < clock_timestamp() - interval '${OUTCOMES_KEPT}'
  order by started_at limit $1 for update skip locked
), closed as (
  delete from turns using old where turns.id = old.id and old.question_id is null
)
update turns set ${EMPTIED} from old where turns.id = old.id and old.question_id is not null
returning turns.id`;

/** Empties turns that are old enough, at most `limit`; returns how many. */
export async function emptyTurns(database: Database, limit = AT_ONCE): Promise<number> {
  return (await database.query({ name: "turns-empty", text: EMPTY, values: [limit] })).length;
}

/** Does so when it was not done lately; called at the end of turns, so that it keeps up with them. Never throws: the next one comes. */
export function makeEmptying(database: Database): () => Promise<void> {
  let due = performance.now() + LOOK_EVERY_MS;
  return async function emptyWhenDue() {
    if (performance.now() < due) return;
    due = performance.now() + LOOK_EVERY_MS;
    const emptied = await emptyTurns(database).catch(() => 0);
    if (emptied === AT_ONCE) due = 0; // there may be more
  };
}
