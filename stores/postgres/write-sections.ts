import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../owner.ts";
import type { Queryable } from "./database.ts";
import { addOperations } from "./operation-store.ts";

/** Who changes memory: the memory agent after a live turn, or after imported messages, or a person. */
export type Actor = "agent" | "person" | "import";

/** A section as it is now. */
export interface StoredSection {
  section: string;
  content: string;
  version: number;
  updatedBy: Actor;
  updatedAt: Date;
  /** When what it says was said, which for imported messages is before it was written. */
  saidAt: Date;
}

/** One change of a section; `content` null removes it. */
export interface SectionChange {
  section: string;
  content: string | null;
  /** The version it may replace: 0 for none, undefined for whatever there is. Of several changes of one section the first's counts. */
  expectedVersion: number | undefined;
  actor: Actor;
  reason: string | null;
  conversationId: string | null;
  triggerMessageId: string | null;
  /** Null: now. */
  saidAt: Date | null;
}

const CURRENT = `
select section, max(version) as version,
  (select version from core_memory_sections kept
    where kept.tenant_id = $1 and kept.user_id = $2 and kept.section = versions.section) as current_version,
  (select content from core_memory_sections kept
    where kept.tenant_id = $1 and kept.user_id = $2 and kept.section = versions.section) as content
from core_memory_versions versions
where tenant_id = $1 and user_id = $2 and section = any($3)
group by section`;

const ADD_VERSIONS = `
insert into core_memory_versions (tenant_id, user_id, section, version, content, updated_by, said_at, conversation_id, trigger_message_id, created_at)
select $1, $2, section, version, content, updated_by, coalesce(said_at, clock_timestamp()), conversation_id, trigger_message_id, clock_timestamp()
from jsonb_to_recordset($3::jsonb) as given (section text, version integer, content text, updated_by text, said_at timestamptz,
  conversation_id uuid, trigger_message_id uuid)`;

/** Each section as its last version of these says; gone when that has no content. */
const SET_CURRENT = `
with latest as (
  select distinct on (section) section, version, content, updated_by, said_at, created_at from core_memory_versions
  where tenant_id = $1 and user_id = $2 and section = any($3) order by section, version desc
), removed as (
  delete from core_memory_sections using latest
  where tenant_id = $1 and user_id = $2 and core_memory_sections.section = latest.section and coalesce(latest.content, '') = ''
), written as (
  insert into core_memory_sections as kept (tenant_id, user_id, section, content, version, updated_by, said_at, updated_at)
  select $1, $2, section, content, version, updated_by, said_at, created_at from latest where content <> ''
  on conflict (tenant_id, user_id, section) do update
  set content = excluded.content, version = excluded.version, updated_by = excluded.updated_by,
    said_at = greatest(kept.said_at, excluded.said_at), updated_at = excluded.updated_at
)
select section, coalesce(content, '') as content, version, updated_by as "updatedBy", created_at as "updatedAt", said_at as "saidAt"
from latest`;

interface CurrentRow {
  section: string;
  version: number;
  current_version: number | null;
  content: string | null;
}

/** The current table after the versions have been changed otherwise: see unlearn.ts. */
export function setCurrent(transaction: Queryable, { tenantId, userId }: Owner, sections: string[]): Promise<StoredSection[]> {
  return transaction.query<StoredSection>({ name: "core-memory-current", text: SET_CURRENT, values: [tenantId, userId, sections] });
}

/**
 * Writes changes one after another, each as a version and a memory operation; null, and nothing is written, when a section is not at the
 * version that is expected. The transaction holds the owner's lock. Returns the sections as they are now, '' for one that is removed.
 */
export async function writeSections(
  transaction: Queryable,
  owner: Owner,
  changes: readonly SectionChange[],
): Promise<StoredSection[] | null> {
  const { tenantId, userId } = owner;
  const sections = [...new Set(changes.map(({ section }) => section))];
  const rows = await transaction.query<CurrentRow>({ name: "core-memory-versions", text: CURRENT, values: [tenantId, userId, sections] });
  const known = new Map(rows.map((row) => [row.section, row]));
  for (const section of sections) {
    const expected = changes.find((change) => change.section === section)?.expectedVersion;
    if (expected !== undefined && expected !== (known.get(section)?.current_version ?? 0)) return null;
  }
  const versions: object[] = [];
  const operations = changes.map(({ section, content, actor, reason, conversationId, triggerMessageId, saidAt }) => {
    const before = known.get(section) ?? { section, version: 0, current_version: null, content: null };
    const version = before.version + 1;
    const trigger = { conversation_id: conversationId, trigger_message_id: triggerMessageId };
    versions.push({ section, version, content, updated_by: actor, said_at: saidAt?.toISOString() ?? null, ...trigger });
    known.set(section, { section, version, current_version: version, content });
    return {
      id: uuidv7(),
      operation: "core_update",
      section,
      version,
      oldValue: before.content,
      newValue: content,
      reason,
      actor,
      refused: null,
      conversationId,
      triggerMessageId,
    };
  });
  await transaction.query({ name: "core-memory-add", text: ADD_VERSIONS, values: [tenantId, userId, JSON.stringify(versions)] });
  await addOperations(transaction, owner, operations);
  return setCurrent(transaction, owner, sections);
}
