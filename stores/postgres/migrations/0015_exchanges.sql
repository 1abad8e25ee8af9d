-- Compatible from 0009.
-- Of an imported message: the question that it answers, or the answer that it got. A turn's own question and answer are in turns.
alter table messages add column partner_id uuid;
-- Messages that were ever imported. Whoever has read messages and finds another number has not read them all.
alter table conversations add column imported_count integer not null default 0;
-- Of an imported message: which one of those it is, from 1. Null: it came by a turn, or before there was this column.
alter table messages add column import_number integer;
-- Of an imported message: the memory agent has not read it. Its cursor alone does not tell, which goes back when older messages are imported.
alter table messages add column is_unread boolean;

-- What was imported so far and was indexed as an exchange: a question and the answer right behind it.
with imported as (
  select id, role, metadata ? 'turn_id' as is_live, lead(id) over places as next_id, lead(role) over places as next_role,
    lead(metadata ? 'turn_id') over places as is_next_live
  from messages
  where completed and conversation_id in (select conversation_id from messages where not metadata ? 'turn_id')
  window places as (partition by conversation_id order by created_at, id)
), exchanges as (
  select id as question_id, next_id as answer_id from imported
  where role = 'user' and not is_live and next_role = 'assistant' and not is_next_live
)
update messages set partner_id = pairs.partner_id
from (
  select question_id as id, answer_id as partner_id from exchanges
  union all
  select answer_id, question_id from exchanges
) pairs
where messages.id = pairs.id;
