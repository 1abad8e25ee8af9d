-- Compatible from 0040.
-- The agents from the lead to the one at work. Null: the agent alone, as in rows from before.
alter table turn_steps add column path text[] collate "C";
-- The seq of the step that gave the task. Null: a step of the agent that answers the turn.
alter table turn_steps add column task integer;
-- Who answers the next turns after a handoff. Null: they are routed.
alter table conversations add column active_agent text collate "C";
-- What an agent did in a turn.
create table agent_runs (
  turn_id uuid not null references turns on delete cascade,
  -- The seq of the step that gave the task. 0: it answered the turn.
  task integer not null,
  agent text collate "C" not null,
  conversation_id uuid not null,
  tenant_id text collate "C" not null,
  path text[] collate "C" not null,
  ok boolean not null,
  tool_calls integer not null,
  tokens integer not null,
  -- Null: unknown.
  input_usd double precision,
  output_usd double precision,
  ms integer not null,
  started_at timestamptz(3) not null,
  primary key (turn_id, task, agent)
);
create index agent_runs_of_agent on agent_runs (tenant_id, agent, started_at);
create index agent_runs_of_conversation on agent_runs (conversation_id, agent, started_at);
