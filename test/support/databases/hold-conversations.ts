import pg from "pg";
import { waitUntil } from "../wait-until.ts";

// Jobs of an earlier turn may wait as well.
const WAITING =
  "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into conversations%'";

/** Locks the table of conversations of a real Postgres: whoever begins a turn waits until `release`, readers do not. */
export async function holdConversations(url: string) {
  const [holder, watcher] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([holder.connect(), watcher.connect()]);
  await holder.query("begin; lock table conversations in share row exclusive mode");
  return {
    untilATurnWaits: () => waitUntil("a turn that waits", async () => (await watcher.query(WAITING)).rowCount !== 0).then(() => undefined),
    async release(): Promise<void> {
      await holder.query("commit");
      await Promise.all([holder.end(), watcher.end()]);
    },
  };
}
