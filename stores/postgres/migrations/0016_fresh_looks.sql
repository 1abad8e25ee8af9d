-- Compatible from 0009.
-- A statement sees what was there when it began, not what it waited for. These functions are volatile: each call looks anew, so a statement that
-- has taken a lock sees what was committed meanwhile (docs/decisions/0036).

-- Whether an index lacks something of a conversation; without a name the current index.
create function has_unindexed_episodes(conversation uuid, wanted text default null) returns boolean language plpgsql volatile as $$
declare
  index text := coalesce(wanted, (select name from search_indexes where kind = 'episodes' and state = 'current'));
begin
  return exists (
    select from archived_memories where conversation_id = conversation and not index_names @> array[index]
  ) or exists (
    select from messages
    where conversation_id = conversation and completed
      and (role = 'assistant' and (import_number is null and metadata ? 'turn_id' or partner_id is null)
        or role = 'user' and not (import_number is null and metadata ? 'turn_id'))
      and (created_at, id) > (
        coalesce((select indexed_through_created_at from episode_cursors where conversation_id = conversation and index_name = index), '-infinity'),
        coalesce((select indexed_through_message_id from episode_cursors where conversation_id = conversation and index_name = index),
          '00000000-0000-0000-0000-000000000000'))
  );
end $$;

-- Whether the memory agent has something to read of a user, or to read again.
create function has_unread_turns(tenant text, "user" text) returns boolean language plpgsql volatile as $$
begin
  return exists (
    select from conversations left join memory_cursors on conversation_id = conversations.id
    where tenant_id = tenant and user_id = "user"
      and last_message_at >= coalesce(read_through_created_at, '-infinity')
      and exists (
        select from messages where messages.conversation_id = conversations.id and completed
          and (role = 'assistant' and (import_number is null and metadata ? 'turn_id' or partner_id is null)
            or role = 'user' and not (import_number is null and metadata ? 'turn_id'))
          and (messages.created_at, messages.id)
            > (coalesce(read_through_created_at, '-infinity'), coalesce(read_through_message_id, '00000000-0000-0000-0000-000000000000')))
  ) or exists (
    select from turns_to_read_again join conversations on conversations.id = turns_to_read_again.conversation_id
    where tenant_id = tenant and user_id = "user"
  );
end $$;

-- When an owner was last erased as a whole.
create function last_erasure_of(owner text) returns text language plpgsql volatile as $$
begin
  return (select max(erased_at)::text from erase_markers where owner_key = owner and group_id is null and episode_id is null);
end $$;
