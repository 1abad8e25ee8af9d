-- Compatible from 0009.
-- What lists show of a conversation. Without a title the first words of what the user said stand for it.
alter table conversations add column title text;
-- Who wrote the title: 'person' or 'model'. One of a person is never overwritten.
alter table conversations add column title_by text;
alter table conversations add column pinned boolean not null default false;
alter table conversations add column archived boolean not null default false;
-- Of the caller.
alter table conversations add column metadata jsonb not null default '{}';

-- What a user thinks of an answer. A row goes with its answer, and so with the exchange, the conversation or the user.
create table message_ratings (
  message_id uuid primary key references messages on delete cascade,
  conversation_id uuid not null,
  value smallint not null check (value in (-1, 1)),
  comment text,
  rated_at timestamptz(3) not null
);
