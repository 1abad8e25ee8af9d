-- Search indexes are derived from messages and can be rebuilt; this says which one serves, and with what its vectors were made.
create table search_indexes (
  -- Name of the table or collection.
  name text primary key,
  kind text not null check (kind in ('episodes')),
  -- One serves; another may be in the making, see scripts/reindex.ts.
  state text not null check (state in ('current', 'building')),
  -- 'postgres' or 'milvus'.
  store text not null,
  embedder text not null,
  dimensions integer not null,
  created_at timestamptz(3) not null,
  unique (kind, state)
);

-- How far a conversation has been indexed: each completed turn up to here is an episode.
create table episode_cursors (
  conversation_id uuid not null references conversations on delete cascade,
  index_name text not null,
  indexed_through_created_at timestamptz(3) not null,
  indexed_through_message_id uuid not null,
  -- The last episode, which is the one before the next; null before the first.
  last_episode_id uuid,
  primary key (conversation_id, index_name)
);

-- Importing the same message again changes nothing.
create unique index messages_by_external_id on messages (conversation_id, (metadata->>'external_id')) where metadata ? 'external_id';

-- After an import of older messages a summary is rebuilt: it covers nothing at first.
alter table conversation_summaries drop constraint conversation_summaries_covered_message_count_check;
alter table conversation_summaries add constraint conversation_summaries_covered_message_count_check check (covered_message_count >= 0);
