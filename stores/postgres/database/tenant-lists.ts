import type { Database } from "./database.ts";
import { readGathered } from "./gathered-reads.ts";

interface KnownList<Item> {
  /** A digest of all rows: no writer has to think of a version. */
  digest: string;
  items: Item[];
}

export interface TenantListParts<Row, Item> {
  /** The name of the read that shares its statement with others. */
  name: string;
  /** SQL: the rows of a tenant in order; `tenant` is the place of its id. */
  rows: (tenant: string) => string;
  toItem: (row: Row) => Item;
}

const KEPT_TENANTS = 1_000;

/** Reads the list of a tenant. An unchanged list is not sent again; the tenants used last are kept. */
export function makeTenantLists<Row, Item>(
  database: Database,
  { name, rows, toItem }: TenantListParts<Row, Item>,
): (tenantId: string) => Promise<Item[]> {
  const lists = new Map<string, KnownList<Item>>();

  function keep(tenantId: string, list: KnownList<Item>): void {
    lists.delete(tenantId); // the last used is the last to go
    lists.set(tenantId, list);
    for (const oldest of lists.keys()) {
      if (lists.size <= KEPT_TENANTS) return;
      lists.delete(oldest);
    }
  }

  const listUnlessKnown = (tenant: string, known: string): string => `
select case when digest is distinct from ${known} then json_build_object('digest', digest, 'rows', rows) else json_build_object('digest', digest) end
from (select coalesce(json_agg(listed), '[]') as rows from (${rows(tenant)}) listed) gathered
cross join lateral (select md5(rows::text) as digest) hashed`;

  return function listOfTenant(tenantId) {
    const known = lists.get(tenantId);
    return readGathered(database, {
      name,
      json: (place) => listUnlessKnown(place(1), place(2)),
      values: [tenantId, known?.digest ?? null],
      toResult(json) {
        const read = json as { digest: string; rows?: Row[] };
        const list = known && !read.rows ? known : { digest: read.digest, items: (read.rows ?? []).map(toItem) };
        keep(tenantId, list);
        return [...list.items];
      },
    });
  };
}
