-- A conversation is the ordered messages of one (tenant, user, session). Ids of callers compare byte by byte: collation "C".
create table conversations (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  session_id text collate "C" not null,
  message_count integer not null default 0,
  -- The newest message's time. Every insert of a message updates this row first, so that messages of one conversation are written one
  -- after another and their created_at only rises (in steps of at least a millisecond: exact in a JavaScript Date).
  last_message_at timestamptz(3) not null,
  -- The turn that is running, and until when it holds the conversation unless it renews.
  turn_id uuid,
  turn_lease_until timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (tenant_id, user_id, session_id)
);

create index conversations_by_user on conversations (tenant_id, user_id, created_at, id);

create table messages (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  completed boolean not null,
  token_count integer not null,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null
);

create index messages_in_order on messages (conversation_id, created_at, id);
