import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";
import { lineKey, inheritSources, loadVersions, type MemoryLine, saveLines, type SectionVersionLines } from "./section-versions.ts";
import { addOperations, type Actor, NO_VALUES } from "./operation-store.ts";

export interface StoredSection {
  section: string;
  content: string;
  version: number;
  updatedBy: Actor;
  updatedAt: Date;
  /** When its content was said: an imported message may be old. */
  saidAt: Date;
}

/** The sources of lines, as the author of a change names them. */
export interface LineChange {
  lines: readonly MemoryLine[];
  /** The messages that removed each line, by `lineKey`. */
  removedBy: ReadonlyMap<string, readonly string[]>;
}

/** One change of a section; `content` null removes it. */
export interface SectionChange {
  section: string;
  content: string | null;
  /** The version to replace: 0 for none, undefined for any. The first of several changes of a section counts. */
  expectedVersion: number | undefined;
  actor: Actor;
  reason: string | null;
  conversationId: string | null;
  triggerMessageIds: readonly string[];
  /** Null: all its messages are the source of new lines. */
  lineChange: LineChange | null;
  /** Null: now. */
  saidAt: Date | null;
}

const ADD_VERSIONS = `
insert into core_memory_versions (tenant_id, user_id, section, version, content, updated_by, said_at, conversation_id, trigger_message_id,
  trigger_message_ids, created_at)
select $1, $2, section, version, content, "updatedBy", coalesce("saidAt", clock_timestamp()), "conversationId", "triggerMessageIds"[array_length("triggerMessageIds", 1)],
  "triggerMessageIds", clock_timestamp()
from jsonb_to_recordset($3::jsonb) as given (section text, version integer, content text, "updatedBy" text, "saidAt" timestamptz,
  "conversationId" uuid, "triggerMessageIds" uuid[])`;

const SET_CURRENT = `
with latest as (
  select distinct on (section) section, version, content, updated_by, said_at, created_at from core_memory_versions
  where tenant_id = $1 and user_id = $2 and section = any($3) order by section, version desc
), removed as (
  delete from core_memory_sections using latest
  where tenant_id = $1 and user_id = $2 and core_memory_sections.section = latest.section and coalesce(latest.content, '') = ''
), written as (
  insert into core_memory_sections as existing (tenant_id, user_id, section, content, version, updated_by, said_at, updated_at)
  select $1, $2, section, content, version, updated_by, said_at, created_at from latest where content <> ''
  on conflict (tenant_id, user_id, section) do update
  set content = excluded.content, version = excluded.version, updated_by = excluded.updated_by,
    said_at = greatest(existing.said_at, excluded.said_at), updated_at = excluded.updated_at
)
select section, coalesce(content, '') as content, version, updated_by as "updatedBy", created_at as "updatedAt", said_at as "saidAt"
from latest`;

export function updateCurrentSections(transaction: Queryable, { tenantId, userId }: Owner, sections: string[]): Promise<StoredSection[]> {
  return transaction.query<StoredSection>({ name: "core-memory-current", text: SET_CURRENT, values: [tenantId, userId, sections] });
}

export async function addVersions(
  transaction: Queryable,
  owner: Owner,
  versions: readonly (Omit<SectionVersionLines, "saidAt"> & { saidAt: Date | null })[],
): Promise<void> {
  const rows = versions.map((version) => ({ ...version, lines: undefined }));
  await transaction.query({ name: "core-memory-add", text: ADD_VERSIONS, values: [owner.tenantId, owner.userId, JSON.stringify(rows)] });
  await saveLines(transaction, owner, versions);
}

type LastVersion = Pick<SectionVersionLines, "section" | "version" | "content" | "lines">;

/**
 * Writes changes in order, each as a version and a memory operation; needs the owner's lock. Returns the present sections, '' for a removed
 * one. Null, and nothing written, when a version is not the expected one.
 */
export async function writeSections(
  transaction: Queryable,
  owner: Owner,
  changes: readonly SectionChange[],
): Promise<StoredSection[] | null> {
  const known = new Map<string, LastVersion>();
  for (const [section, versions] of await loadVersions(transaction, owner, { isLastEnough: true })) {
    const last = versions.at(-1);
    if (last) known.set(section, last);
  }
  const sections = [...new Set(changes.map(({ section }) => section))];
  for (const section of sections) {
    const expected = changes.find((change) => change.section === section)?.expectedVersion;
    const last = known.get(section);
    if (expected !== undefined && expected !== (last?.content ? last.version : 0)) return null;
  }
  const replaced: LastVersion[] = [];
  const added: Parameters<typeof addVersions>[2][number][] = [];
  const operations = changes.map(({ section, content, actor: updatedBy, reason, lineChange, ...from }) => {
    const before = known.get(section) ?? { section, version: 0, content: null, lines: [] };
    const elsewhere = [...known.values()].filter((other) => other.section !== section).flatMap(({ lines }) => lines);
    const lines = lineChange?.lines ?? inheritSources(content, { before: before.lines, elsewhere }, from.triggerMessageIds);
    if (lineChange && before.lines.length > 0) {
      const removedBy = ({ content: line }: MemoryLine) => lineChange.removedBy.get(lineKey(line)) ?? null;
      replaced.push({ ...before, lines: before.lines.map((line) => ({ ...line, removedBy: removedBy(line) })) });
    }
    const version = before.version + 1;
    const written = { ...from, section, version, content, updatedBy, lines: lines.map((line) => ({ ...line, removedBy: null })) };
    added.push(written);
    known.set(section, written);
    return {
      ...NO_VALUES,
      id: uuidv7(),
      operation: "core_update",
      section,
      version,
      oldValue: before.content === "" ? null : before.content,
      newValue: content,
      reason,
      actor: updatedBy,
      conversationId: from.conversationId,
      triggerMessageIds: from.triggerMessageIds,
    };
  });
  await addVersions(transaction, owner, added);
  await saveLines(transaction, owner, replaced);
  await addOperations(transaction, owner, operations);
  return updateCurrentSections(transaction, owner, sections);
}
