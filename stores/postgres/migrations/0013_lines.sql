-- Compatible from 0009.
-- What the lines of a version rest on. The text stands in the version alone: here are ids only.
create table core_memory_lines (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  version integer not null,
  -- Its place among the lines of the version that are not blank, from 0.
  position integer not null,
  -- The messages whose words may be in it; none: a person wrote it.
  trigger_message_ids uuid[] not null,
  -- Messages that said it again without changing it.
  repeated_in uuid[] not null,
  -- By which messages the next version left it out; null: by those of that version.
  removed_by uuid[],
  primary key (tenant_id, user_id, section, version, position),
  foreign key (tenant_id, user_id, section, version) references core_memory_versions on delete cascade
);

-- Whoever changes the text of a version says anew what its lines rest on; the version before this one says nothing of lines at all.
create function forget_core_memory_lines() returns trigger language plpgsql as $$
begin
  delete from core_memory_lines
  where tenant_id = new.tenant_id and user_id = new.user_id and section = new.section and version = new.version;
  return null;
end $$;

create trigger core_memory_version_changed after update of content on core_memory_versions
for each row when (old.content is distinct from new.content) execute function forget_core_memory_lines();

-- All messages that gave rise to it; null: written by the version before this one, which knew trigger_message_id alone.
alter table core_memory_versions add column trigger_message_ids uuid[];
alter table memory_operations add column trigger_message_ids uuid[];
alter table archived_memories add column trigger_message_ids uuid[];
-- Messages that would have archived the same.
alter table archived_memories add column repeated_in uuid[] not null default '{}';

-- Turns that the memory agent reads again: what rested on them and on something erased is gone, and is decided anew from them.
create table turns_to_read_again (
  -- The user's message.
  message_id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  noted_at timestamptz(3) not null
);

create index turns_to_read_again_by_conversation on turns_to_read_again (conversation_id);
