-- Compatible from 0041.
-- The name of the rule that refused or corrected a call. Null: something else decided.
alter table decisions add column rule text;
-- What holds for every agent of a tenant.
create table tenant_rules (
  tenant_id text collate "C" primary key,
  rules jsonb not null,
  updated_at timestamptz(3) not null
);
