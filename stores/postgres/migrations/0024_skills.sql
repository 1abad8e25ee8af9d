-- Compatible from 0009.
-- Skills of tenants. `files` are texts by path, SKILL.md among them, and `description` is what that says; both are null where a tenant
-- disables a skill of the same name that a folder has.
create table skills (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  description text,
  files jsonb,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, name),
  check ((description is null) = (files is null))
);
