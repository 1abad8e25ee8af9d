import type { Queryable } from "../database/database.ts";

/** As migration 15 does it: a question and the answer right behind it, of imports that said nothing of partners. */
const PAIR = `
with imported as (
  select id, role, metadata ? 'turn_id' or import_number is not null as is_other, lead(id) over places as next_id, lead(role) over places as next_role,
    lead(metadata ? 'turn_id' or import_number is not null) over places as is_next_other
  from messages
  where completed and conversation_id in (select conversation_id from messages where import_number is null and not metadata ? 'turn_id')
  window places as (partition by conversation_id order by created_at, id)
), exchanges as (
  select id as question_id, next_id as answer_id from imported
  where role = 'user' and not is_other and next_role = 'assistant' and not is_next_other
)
update messages set partner_id = pairs.partner_id
from (
  select question_id as id, answer_id as partner_id from exchanges
  union all
  select answer_id, question_id from exchanges
) pairs
where messages.id = pairs.id and messages.partner_id is null`;

/** Pairs imported messages of a file that was written before pairs were kept. */
export async function pairOldImports(transaction: Queryable): Promise<void> {
  await transaction.query({ text: PAIR });
}
