-- Compatible from 0009.
-- A conversation is a tree of messages. Its path is what its active branch shows from the root to the head.

-- There is no row until a conversation is branched; from then on its first branch has one, too, whose id is the conversation's.
create table branches (
  id uuid primary key,
  conversation_id uuid not null references conversations on delete cascade,
  -- The branch of the last message that it shares. Null: the first branch.
  parent_id uuid,
  -- That message. Null: it shares none.
  fork_created_at timestamptz(3),
  fork_message_id uuid,
  origin text collate "C" check (origin in ('edit', 'regenerate', 'restore')),
  label text,
  -- Of its path, when it was last left. Null: nobody knows.
  message_count integer,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

create index branches_of_conversation on branches (conversation_id, created_at, id);

-- Null: the first branch.
alter table messages add column branch_id uuid;
alter table turns add column branch_id uuid;

alter table conversations
  -- Null: the first branch.
  add column active_branch_id uuid,
  -- For each branch of the path the place (created_at, id) of the last message that the path has of it. Null: there are no branches.
  add column path jsonb,
  -- The path that core memory follows.
  add column remembered_path jsonb,
  -- Null: nobody knows, or there are no branches.
  add column path_message_count integer;

-- On which branch a summary was made. The highest version ever, when a switch has gone back to a lower one.
alter table conversation_summaries add column branch_id uuid, add column last_version integer;
alter table conversation_summary_versions add column branch_id uuid;

-- The path of a branch; null when there is no such branch. Of a circle, which only a changed archive can have, it gives more than 64 steps.
create function branch_path(of_conversation uuid, of_branch uuid) returns jsonb language sql stable set timezone = 'UTC' as $$
  with recursive steps (branch, parent_id, fork_created_at, fork_message_id, through_created_at, through_id, depth) as (
    select id, parent_id, fork_created_at, fork_message_id, 'infinity'::timestamptz, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, 1
    from branches where id = of_branch and conversation_id = of_conversation
    union all
    select branches.id, branches.parent_id, branches.fork_created_at, branches.fork_message_id, steps.fork_created_at, steps.fork_message_id, depth + 1
    from steps join branches on branches.id = steps.parent_id and conversation_id = of_conversation
    where steps.fork_message_id is not null and depth < 66
  )
  select jsonb_object_agg(branch, jsonb_build_array(through_created_at, through_id)) from steps
$$;

-- Whether core memory has to follow a path, or the memory agent to read something.
create function has_unread_memory(tenant text, "user" text) returns boolean language plpgsql volatile as $$
begin
  return has_unread_turns(tenant, "user")
    or exists (select from conversations where tenant_id = tenant and user_id = "user" and path is distinct from remembered_path);
end $$;
