import type { Queryable } from "../postgres/database.ts";
import type { JobKind } from "./job.ts";
import { QUEUE } from "./make-boss.ts";

export interface OldestWaiting {
  kind: JobKind;
  /** Since it was added; trying again does not change it. */
  seconds: number;
}

/** Columns as pg-boss documents them: https://pgboss.io/sql */
const OLDEST = `
select data->>'kind' as kind, greatest(0, extract(epoch from clock_timestamp() - min(created_on)))::float8 as seconds
from pgboss.job where name = '${QUEUE}' and state in ('created', 'retry') group by 1 order by 1`;

/** How old the oldest job is that waits, for its first run or another, by kind and over all tenants; kinds of which none waits are left out. */
export function findOldestWaiting(database: Queryable): Promise<OldestWaiting[]> {
  return database.query<OldestWaiting>({ name: "job-oldest", text: OLDEST });
}
