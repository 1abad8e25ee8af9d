-- Compatible from 0009.
-- Places of a conversation that a person has named, to come back to.
create table snapshots (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  -- The branch of the message; the first one has the conversation's id.
  branch_id uuid not null,
  message_id uuid not null,
  message_created_at timestamptz(3) not null,
  label text not null,
  created_at timestamptz(3) not null
);

create index snapshots_of_conversation on snapshots (conversation_id, created_at, id);
