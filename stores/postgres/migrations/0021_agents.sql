-- Compatible from 0009.
-- Agents of tenants. `spec` is what the caller sent; null disables an agent of the same name that a file has.
create table agents (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  spec jsonb,
  version integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, name)
);

-- Every version of an agent, for whoever asks how it was when a turn ran. A deleted agent takes its versions along.
create table agent_versions (
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  version integer not null,
  spec jsonb,
  created_at timestamptz(3) not null,
  primary key (tenant_id, name, version),
  foreign key (tenant_id, name) references agents on delete cascade
);

-- What a turn did on the way to its answer. A call of a tool is stored before it runs (ended_at is null) and again when it has ended, so
-- that none runs twice. A row goes with its turn, and so with the question, the conversation or the user.
create table turn_steps (
  turn_id uuid not null references turns on delete cascade,
  seq integer not null,
  conversation_id uuid not null,
  agent text collate "C" not null,
  kind text collate "C" not null check (kind in ('model', 'tool', 'question', 'plan', 'compaction', 'agent')),
  name text collate "C" not null,
  call_id text collate "C",
  arguments jsonb,
  output text,
  ok boolean,
  tokens integer not null default 0,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (turn_id, seq)
);

-- How often and when an agent took part in a conversation.
create table conversation_agents (
  conversation_id uuid not null references conversations on delete cascade,
  agent text collate "C" not null,
  interaction_count integer not null,
  last_interaction_type text collate "C" not null,
  last_interaction_at timestamptz(3) not null,
  state_description text,
  primary key (conversation_id, agent)
);
