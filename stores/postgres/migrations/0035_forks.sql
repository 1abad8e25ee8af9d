-- Compatible from 0009.
-- A fork is a conversation that begins with messages of another one, which it shares.

create table forks (
  conversation_id uuid primary key references conversations on delete cascade,
  -- Null: it was erased.
  origin_id uuid,
  message_id uuid not null,
  message_created_at timestamptz(3) not null,
  -- As conversations.path, of what is shared; each place has a third field, the conversation of the messages.
  base_path jsonb not null,
  -- Those conversations.
  source_ids uuid[] not null default '{}',
  created_at timestamptz(3) not null
);

create index forks_by_source on forks using gin (source_ids);

-- A path as far as a place. The steps that say nothing of a conversation are of the given one.
create function path_through(path jsonb, through_created_at timestamptz, through_id uuid, of_conversation uuid) returns jsonb
language sql immutable set timezone = 'UTC' as $$
  with steps as (
    select step.key as branch, (step.value->>0)::timestamptz as created_at, (step.value->>1)::uuid as id, coalesce(step.value->>2, of_conversation::text) as conversation
    from jsonb_each(path) step
  ), placed as (
    select *, lag(created_at) over (order by created_at, id) as before_created_at, lag(id) over (order by created_at, id) as before_id from steps
  )
  select coalesce(jsonb_object_agg(branch, jsonb_build_array(
    case when (created_at, id) <= (through_created_at, through_id) then created_at else through_created_at end,
    case when (created_at, id) <= (through_created_at, through_id) then id else through_id end, conversation)), '{}')
  from placed where before_id is null or (before_created_at, before_id) < (through_created_at, through_id)
$$;

-- The path of a branch; null when there is no such branch. A branch of a fork that leaves among shared messages begins with these.
-- Of a circle, which only a changed archive can have, it gives more than 64 steps.
create or replace function branch_path(of_conversation uuid, of_branch uuid) returns jsonb language sql stable set timezone = 'UTC' as $$
  with recursive steps (branch, parent_id, fork_created_at, fork_message_id, through_created_at, through_id, depth) as (
    select id, parent_id, fork_created_at, fork_message_id, 'infinity'::timestamptz, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, 1
    from branches where id = of_branch and conversation_id = of_conversation
    union all
    select branches.id, branches.parent_id, branches.fork_created_at, branches.fork_message_id, steps.fork_created_at, steps.fork_message_id, depth + 1
    from steps join branches on branches.id = steps.parent_id and conversation_id = of_conversation
    where steps.fork_message_id is not null and depth < 66
  ), shared as (
    select path_through(base_path, fork_created_at, fork_message_id, null) as path
    from (select * from steps order by depth desc limit 1) first join forks on forks.conversation_id = of_conversation
    where fork_message_id is not null and depth < 66
  )
  select jsonb_object_agg(branch, jsonb_build_array(through_created_at, through_id)) || coalesce((select path from shared), '{}') from steps
$$;
