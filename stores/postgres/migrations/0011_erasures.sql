-- Compatible from 0009.
-- An erase that is too large for one transaction, and how far it has got. Holds nothing of what is erased. The rows that it takes out belong to
-- nobody meanwhile: conversations have the tenant '' and the erasure's id as their user, documents the tenant '' and that id as their prefix.
create table erasures (
  id uuid primary key,
  -- Hashes of whose it was: of the tenant, and of tenant and user or of tenant and knowledge base.
  tenant_key text collate "C" not null,
  owner_key text collate "C" not null,
  -- Null: everything of its owner.
  conversation_id uuid,
  -- Of what was set aside.
  all_messages integer not null default 0,
  -- Taken out so far.
  messages integer not null default 0,
  summaries integer not null default 0,
  episodes integer not null default 0,
  core_memory_sections integer not null default 0,
  memory_operations integer not null default 0,
  jobs integer not null default 0,
  started_at timestamptz(3) not null,
  -- Null while something is left. The row goes when somebody has heard that it is done, or after 30 days.
  finished_at timestamptz(3)
);
