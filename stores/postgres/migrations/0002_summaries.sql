-- pg-boss' own, made here under our lock: when it makes it itself, two processes that start together on an empty database get in each
-- other's way.
create schema if not exists pgboss;

-- The running text that stands for every completed message of a conversation up to its cover point, the pair of (created_at, id).
create table conversation_summaries (
  conversation_id uuid primary key references conversations on delete cascade,
  summary text not null,
  -- 1 for the first; each save adds one.
  summary_version integer not null check (summary_version >= 1),
  covered_through_created_at timestamptz(3) not null,
  covered_through_message_id uuid not null,
  covered_message_count integer not null check (covered_message_count >= 1),
  token_count integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
