import type { Owner } from "../../../turn/owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database, Queryable } from "../database/database.ts";
import { isBeforeCursor, pageValues } from "../database/sql-parts.ts";

/** Who changes memory: the memory agent after a turn (`agent`) or an import, or a person. */
export type Actor = "agent" | "person" | "import";

/** A change of a user's memory, a search of it, or a refused one. */
export interface MemoryOperation {
  id: string;
  /** `core_update`, `archival_insert`, `archival_search`; `unknown_tool` for anything else. */
  operation: string;
  section: string | null;
  version: number | null;
  oldValue: string | null;
  newValue: string | null;
  reason: string | null;
  actor: Actor;
  /** Why it was refused; null when done. */
  refused: string | null;
  /** The type of an archived memory, or the one searched for. */
  episodeType: string | null;
  importance: number | null;
  memoryId: string | null;
  /** The messages behind the replaced words: an erase of one takes the operation too. */
  restsOn: readonly string[] | null;
  /** The number of a search's results, and the best one without its text. */
  resultsCount: number | null;
  topResult: { id: string; score: number } | null;
  conversationId: string | null;
  /** The user's messages that led to it, newest last. */
  triggerMessageIds: readonly string[];
}

/** The values of an operation without any. */
export const NO_VALUES = {
  section: null,
  version: null,
  oldValue: null,
  newValue: null,
  reason: null,
  refused: null,
  episodeType: null,
  importance: null,
  memoryId: null,
  restsOn: null,
  resultsCount: null,
  topResult: null,
};

export interface StoredOperation extends Omit<MemoryOperation, "memoryId" | "restsOn"> {
  /** The knowledge base of the newest turn that led to it; null without a turn. */
  kbPrefix: string | null;
  createdAt: Date;
}

/** Reads memory operations. */
export interface OperationStore {
  /** Newest first; with `triggerMessageId` only those for that message. */
  list(owner: Owner, page: PageRequest, triggerMessageId?: string | null): Promise<Page<StoredOperation>>;
}

/** SQL: also for rows of an older release, which have one message each. */
export const ALL_TRIGGERS = "coalesce(trigger_message_ids, array_remove(array[trigger_message_id], null))";

const ADD = `
insert into memory_operations (id, tenant_id, user_id, operation, section, version, old_value, new_value, reason, actor, refused, conversation_id,
  trigger_message_id, trigger_message_ids, episode_type, importance, memory_id, rests_on, results_count, top_result,
  created_at)
select id, $1, $2, operation, section, version, "oldValue", "newValue", reason, actor, refused, "conversationId",
  "triggerMessageIds"[array_length("triggerMessageIds", 1)], "triggerMessageIds", "episodeType", importance, "memoryId", "restsOn", "resultsCount", "topResult", clock_timestamp()
from jsonb_to_recordset($3::jsonb) as given (id uuid, operation text, section text, version integer, "oldValue" text, "newValue" text, reason text, actor text,
  refused text, "conversationId" uuid, "triggerMessageIds" uuid[], "episodeType" text, importance double precision, "memoryId" uuid, "restsOn" uuid[], "resultsCount" integer,
  "topResult" jsonb)`;

/** SQL: from the answer to the newest trigger. A worker's name joins those of its knowledge base and agent. */
const KB_PREFIX = `(
  select coalesce(answer.metadata->'route'->>'kb_prefix', split_part(answer.metadata->>'worker_name', ':', 1))
  from turns join messages answer on answer.id = answer_id
  where question_id = trigger_message_id and turns.tenant_id = $1 and turns.user_id = $2
  order by answer.created_at desc limit 1)`;

const LIST = `
select id, operation, section, version, old_value as "oldValue", new_value as "newValue", reason, actor, refused, conversation_id as "conversationId",
  ${ALL_TRIGGERS} as "triggerMessageIds", episode_type as "episodeType", importance, results_count as "resultsCount", top_result as "topResult",
  ${KB_PREFIX} as "kbPrefix", created_at as "createdAt"
from memory_operations
where tenant_id = $1 and user_id = $2 and ($6::uuid is null or $6 = any(${ALL_TRIGGERS}))
  and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

export async function addOperations(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  operations: readonly MemoryOperation[],
): Promise<void> {
  if (operations.length === 0) return;
  await transaction.query({ name: "operations-add", text: ADD, values: [tenantId, userId, JSON.stringify(operations)] });
}

/** The memory operations of a database. */
export function makeOperationStore(database: Database): OperationStore {
  return {
    async list({ tenantId, userId }, page, triggerMessageId = null) {
      const rows = await database.query<StoredOperation>({
        name: "operations-list",
        text: LIST,
        values: [tenantId, userId, ...pageValues(page), triggerMessageId],
      });
      return toPage(rows, page.limit);
    },
  };
}
