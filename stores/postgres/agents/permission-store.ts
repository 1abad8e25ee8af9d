import type { Owner } from "../../../turn/owner.ts";
import { type Page, type PageRequest, toPage } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { isBeforeCursor, pageValues } from "../database/sql-parts.ts";

/** A tool that a user has allowed an agent for good. */
export interface KeptPermission {
  id: string;
  agent: string;
  tool: string;
  createdAt: Date;
}

export interface PermissionStore {
  /** The digests of the tools that the user has allowed the agent, by name. */
  ofAgent(owner: Owner, agent: string): Promise<ReadonlyMap<string, string>>;
  /** Newest first. */
  list(owner: Owner, page: PageRequest): Promise<Page<KeptPermission>>;
  remove(owner: Owner, id: string): Promise<boolean>;
}

const LIST = `
select id, agent, tool, created_at as "createdAt" from permissions where tenant_id = $1 and user_id = $2 and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

export function makePermissionStore(database: Database): PermissionStore {
  return {
    async ofAgent({ tenantId, userId }, agent) {
      const text = "select tool, digest from permissions where tenant_id = $1 and user_id = $2 and agent = $3";
      const values = [tenantId, userId, agent];
      const rows = await database.query<{ tool: string; digest: string }>({ name: "permissions-of-agent", text, values });
      return new Map(rows.map(({ tool, digest }) => [tool, digest]));
    },
    async list({ tenantId, userId }, page) {
      const values = [tenantId, userId, ...pageValues(page)];
      return toPage(await database.query<KeptPermission>({ name: "permissions-list", text: LIST, values }), page.limit);
    },
    async remove({ tenantId, userId }, id) {
      const text = "delete from permissions where id = $1 and tenant_id = $2 and user_id = $3 returning 1";
      return (await database.query({ name: "permission-remove", text, values: [id, tenantId, userId] })).length === 1;
    },
  };
}
