-- What is true about a user now, in a few labelled sections. A section that was removed is not here; its versions are.
create table core_memory_sections (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  content text not null,
  version integer not null check (version >= 1),
  updated_by text not null check (updated_by in ('agent', 'person', 'import')),
  -- When it was said, which for imported messages is before it was written: what was said earlier replaces nothing.
  said_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, user_id, section)
);

-- Every version a section had; no content: it was removed. A conversation that is erased takes the versions with it that it gave rise to.
create table core_memory_versions (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  section text collate "C" not null,
  version integer not null check (version >= 1),
  content text,
  updated_by text not null check (updated_by in ('agent', 'person', 'import')),
  said_at timestamptz(3) not null,
  conversation_id uuid,
  trigger_message_id uuid,
  created_at timestamptz(3) not null,
  primary key (tenant_id, user_id, section, version)
);

-- What was done to a user's memory and why; `refused` says why it was not.
create table memory_operations (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  operation text not null,
  section text,
  -- Of the section, that the operation made.
  version integer,
  old_value text,
  new_value text,
  reason text,
  actor text not null check (actor in ('agent', 'person', 'import')),
  refused text,
  conversation_id uuid,
  trigger_message_id uuid,
  created_at timestamptz(3) not null
);

create index memory_operations_by_user on memory_operations (tenant_id, user_id, created_at, id);

-- How far the memory agent has read a conversation.
create table memory_cursors (
  conversation_id uuid primary key references conversations on delete cascade,
  read_through_created_at timestamptz(3) not null,
  read_through_message_id uuid not null,
  -- After an import of older messages the cursor goes back. Up to here, messages with ids before `known_before_id` have been read already:
  -- ids rise with the time at which messages were stored.
  known_through_created_at timestamptz(3),
  known_through_message_id uuid,
  known_before_id uuid
);

-- What the memory agent put into the archive: an episode of its own, in the index whose names are listed.
create table archived_memories (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  trigger_message_id uuid not null,
  content text not null,
  episode_type text not null check (episode_type in ('preference', 'decision', 'context', 'outcome')),
  importance double precision not null check (importance between 0 and 1),
  index_names text[] not null default '{}',
  created_at timestamptz(3) not null
);

-- Archiving the same again changes nothing.
create unique index archived_memories_once on archived_memories (conversation_id, md5(content));

-- Counts what took messages out of a conversation or put them between others: what was read before it is not what there is.
alter table conversations add column rewrites integer not null default 0;

-- That something was erased, and nothing of what it was: of an owner (a hash) all, one group of episodes (a hash too) or one episode. A turn
-- compares the newest of its user before and after it has read the memory; a rebuild of the index leaves out what was erased meanwhile.
create table erase_markers (
  id uuid primary key,
  owner_key text collate "C" not null,
  group_id uuid,
  episode_id uuid,
  erased_at timestamptz(3) not null
);

create index erase_markers_by_owner on erase_markers (owner_key, erased_at) where group_id is null and episode_id is null;
create index erase_markers_by_time on erase_markers (erased_at);
