import type { Database } from "../database/database.ts";
import { makeTenantLists } from "../database/tenant-lists.ts";

/** A skill of a tenant. A null `description` disables a folder's skill of that name. */
export interface StoredSkill {
  name: string;
  description: string | null;
}

/** Null `files` disable a skill. */
export interface SkillContent {
  files: Record<string, string> | null;
  updatedAt: Date;
}

export interface SkillStore {
  list(tenantId: string): Promise<StoredSkill[]>;
  find(tenantId: string, name: string): Promise<SkillContent | null>;
  /** Null disables. */
  put(tenantId: string, name: string, skill: { description: string; files: Record<string, string> } | null): Promise<{ isNew: boolean }>;
  remove(tenantId: string, name: string): Promise<boolean>;
}

const PUT = `
insert into skills (tenant_id, name, description, files, created_at, updated_at)
values ($1, $2, $3, $4::jsonb, clock_timestamp(), clock_timestamp())
on conflict (tenant_id, name) do update set description = excluded.description, files = excluded.files, updated_at = clock_timestamp()
returning xmax = 0 as "isNew"`;

export function makeSkillStore(database: Database): SkillStore {
  return {
    list: makeTenantLists<StoredSkill, StoredSkill>(database, {
      name: "skills-list",
      rows: (tenant) => `select name, description from skills where tenant_id = ${tenant} order by name`,
      toItem: (row) => row,
    }),

    async find(tenantId, name) {
      const text = `select files, updated_at as "updatedAt" from skills where tenant_id = $1 and name = $2`;
      const [found] = await database.query<SkillContent>({ name: "skill-find", text, values: [tenantId, name] });
      return found ?? null;
    },

    async put(tenantId, name, skill) {
      const values = [tenantId, name, skill?.description ?? null, skill && JSON.stringify(skill.files)];
      const [put] = await database.query<{ isNew: boolean }>({ name: "skill-put", text: PUT, values });
      return { isNew: put?.isNew ?? false };
    },

    async remove(tenantId, name) {
      const text = "delete from skills where tenant_id = $1 and name = $2 returning 1";
      return (await database.query({ name: "skill-remove", text, values: [tenantId, name] })).length === 1;
    },
  };
}
