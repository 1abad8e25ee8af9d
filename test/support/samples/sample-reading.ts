import type { Owner } from "../../../turn/owner.ts";
import type { Cursor } from "../../../stores/page.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import {
  makeUnreadStore,
  type ReadingOutcome,
  type ReadingResult,
  type UnreadConversation,
  type UnreadStore,
} from "../../../stores/postgres/memory/unread-store.ts";
import { sampleChange, sampleMemory, sampleOperation } from "./core-memory.ts";

/** Reads what has waited longest, which must be there. */
export async function readNext(unread: UnreadStore, owner: Owner, limit = 40): Promise<UnreadConversation> {
  const read = await unread.next(owner, limit);
  if (!read) throw new Error("nothing is unread");
  return read;
}

export function endOf({ messages }: UnreadConversation): Cursor {
  const last = messages.at(-1);
  if (!last) throw new Error("nothing was read");
  return { createdAt: last.createdAt, id: last.id };
}

/** What a reading comes to, nothing unless `fields` say otherwise. */
export function decided(fields: Partial<ReadingResult> = {}): ReadingResult {
  return { changes: [], repeated: [], operations: [], archived: [], corrected: [], basedOn: { sections: [], messageIds: [] }, ...fields };
}

export function sampleResult({ conversationId, messages }: UnreadConversation, expectedVersion?: number): ReadingResult {
  const [first] = messages;
  if (!first) throw new Error("nothing was read");
  const from = { conversationId, triggerMessageIds: [first.id] };
  return decided({
    changes: [sampleChange({ ...from, expectedVersion, saidAt: first.createdAt })],
    operations: [sampleOperation(from)],
    archived: [sampleMemory(first.id)],
  });
}

export function saveReading(
  database: Database,
  owner: Owner,
  read: UnreadConversation,
  result: ReadingResult = sampleResult(read),
): Promise<ReadingOutcome> {
  return makeUnreadStore(database).save(owner, read, endOf(read), result);
}

const MEMORY = `
select
  (select coalesce(json_agg(kept order by section), '[]') from core_memory_sections kept where tenant_id = $1 and user_id = $2) as sections,
  (select coalesce(json_agg(kept order by section, version), '[]') from core_memory_versions kept where tenant_id = $1 and user_id = $2) as versions,
  (select coalesce(json_agg(kept order by id), '[]') from memory_operations kept where tenant_id = $1 and user_id = $2) as operations,
  (select coalesce(json_agg(kept order by id), '[]') from archived_memories kept
    where conversation_id in (select id from conversations where tenant_id = $1 and user_id = $2)) as archived,
  (select coalesce(json_agg(kept order by conversation_id), '[]') from memory_cursors kept
    where conversation_id in (select id from conversations where tenant_id = $1 and user_id = $2)) as cursors,
  (select coalesce(json_agg(data order by id), '[]') from pgboss.job where data->>'tenantId' = $1 and data->>'userId' = $2) as jobs`;

export interface WrittenByReading {
  sections: object[];
  versions: object[];
  operations: { id: string; operation: string; old_value: string | null; new_value: string | null; refused: string | null }[];
  archived: { id: string }[];
  cursors: object[];
  jobs: object[];
}

export async function writtenByReadings(database: Database, { tenantId, userId }: Owner): Promise<WrittenByReading> {
  const [row] = await database.query<WrittenByReading>({ text: MEMORY, values: [tenantId, userId] });
  if (!row) throw new Error("a select without a from gives a row");
  return row;
}
