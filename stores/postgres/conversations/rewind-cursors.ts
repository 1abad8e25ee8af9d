import type { Queryable } from "../database/database.ts";
import type { OwnedConversation } from "../../owner.ts";
import { MAX_UUID, MIN_UUID } from "../database/sql-parts.ts";

/** Moves a cover point back to the start. The version still rises, so a summary in the making is not saved. */
export const REBUILD_SUMMARY = `
with outdated as (
  delete from conversation_summary_versions where conversation_id = $1 and covered_through_created_at >= $2
)
update conversation_summaries
set summary = '', summary_version = summary_version + 1, covered_through_created_at = '0001-01-01',
  covered_through_message_id = ${MIN_UUID}, covered_message_count = 0, token_count = 0, updated_at = clock_timestamp()
where conversation_id = $1 and covered_through_created_at >= $2
returning conversation_id`;

const BEFORE = "$2::timestamptz - interval '1 millisecond'";

const REINDEX = `
update episode_cursors set indexed_through_created_at = ${BEFORE}, indexed_through_message_id = ${MAX_UUID}
where conversation_id = $1 and indexed_through_created_at >= $2`;

/** Turns up to the old cursor stay known; an imported message has a mark of its own. */
const REREAD = `
update memory_cursors
set known_through_created_at = case when is_further then known_through_created_at else read_through_created_at end,
  known_through_message_id = case when is_further then known_through_message_id else read_through_message_id end,
  read_through_created_at = ${BEFORE},
  read_through_message_id = ${MAX_UUID}
from (
  select coalesce((known_through_created_at, known_through_message_id) > (read_through_created_at, read_through_message_id), false) as is_further
  from memory_cursors where conversation_id = $1
) known
where conversation_id = $1 and read_through_created_at >= $2`;

export interface ImportedRange {
  /** Of the first new message. */
  earliest: Date;
  /** Of the first message of a changed exchange. */
  changedFrom: Date;
}

/** Moves the cursors of summary, index and memory agent back. */
export async function rewindCursors(
  transaction: Queryable,
  { conversationId }: OwnedConversation,
  { earliest, changedFrom }: ImportedRange,
): Promise<void> {
  await transaction.query({ name: "import-rebuild", text: REBUILD_SUMMARY, values: [conversationId, earliest] });
  await transaction.query({ name: "import-reindex", text: REINDEX, values: [conversationId, changedFrom] });
  await transaction.query({ name: "import-reread", text: REREAD, values: [conversationId, earliest] });
}
