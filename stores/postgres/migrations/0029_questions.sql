-- Compatible from 0009.
-- What a turn asks a person, or the caller, and waits for. While it waits no process has the turn: its conversation is held for ever
-- (turn_lease_until is 'infinity'), and whoever stores the answer goes on with it. A row goes with its turn.
create table questions (
  id uuid primary key,
  turn_id uuid not null references turns on delete cascade,
  conversation_id uuid not null,
  -- Its step.
  seq integer not null,
  type text collate "C" not null check (type in ('permission', 'clarification', 'decision', 'client_tool')),
  agent text collate "C" not null,
  -- As it is shown, but for the arguments of calls: they are the text that the model sent.
  content jsonb not null,
  -- The answer that counts when nobody answers; null: there is none.
  if_unanswered jsonb,
  -- What the turn needs to go on, besides what is stored of it anyway. Null when it has gone on to its end, or to its next question.
  resume jsonb,
  -- How often a process has gone on with it; more than once when one died.
  taken integer not null default 0,
  asked_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  answer jsonb,
  -- What the person said in their own words.
  answer_text text,
  answered_by text collate "C" check (answered_by in ('person', 'timeout', 'cancelled')),
  answered_at timestamptz(3)
);

create unique index questions_open on questions (turn_id) where answered_at is null;
create index questions_by_turn on questions (turn_id);
create index questions_to_go_on on questions (expires_at) where resume is not null;
create index questions_of_conversation on questions (conversation_id) where answered_at is null;

-- Who has allowed which tool for good. It counts for the tool as it was then: the digest is of its description and schema.
create table permissions (
  id uuid primary key,
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  agent text collate "C" not null,
  tool text collate "C" not null,
  digest text collate "C" not null,
  created_at timestamptz(3) not null,
  unique (tenant_id, user_id, agent, tool)
);

-- Of a turn that went on after a question: by whose hand the step was begun, so that no step is begun by two processes. Null: the first one.
alter table turn_steps add column runner uuid;
