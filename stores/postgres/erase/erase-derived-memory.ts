import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { lexicalWords } from "../../../text/lexical-text.ts";
import type { Queryable } from "../database/database.ts";
import { lineKey, linesOf, loadVersions, saveLines, type SectionVersionLines, type VersionLine } from "../memory/section-versions.ts";
import { eraseArchive } from "./erase-archive.ts";
import { rebuildSection, type RebuiltSection } from "../memory/rebuild-section.ts";
import { addVersions, updateCurrentSections } from "../memory/write-sections.ts";
import { addTurnsToReread, removeTurnsToReread } from "../memory/turns-to-reread.ts";

/** Deleted rows. */
export interface ErasedMemory {
  coreMemorySections: number;
  memoryOperations: number;
}

export interface ErasedMessages {
  conversationId: string;
  /** Undefined for the whole conversation. */
  messageIds?: readonly string[];
  jobs: JobTransaction;
}

const GONE_WITH = `
select given.id from unnest($1::uuid[]) as given (id)
where not exists (select from messages where messages.id = given.id and conversation_id <> $2)`;

const CHANGE_VERSIONS = `
update core_memory_versions set content = changed.content, trigger_message_ids = changed."triggerMessageIds",
  trigger_message_id = changed."triggerMessageIds"[array_length(changed."triggerMessageIds", 1)]
from jsonb_to_recordset($3::jsonb) as changed (section text, version integer, content text, "triggerMessageIds" uuid[])
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = changed.section and core_memory_versions.version = changed.version`;

const CHANGE_OPERATIONS = `
update memory_operations set old_value = changed.before, new_value = changed.content,
  trigger_message_ids = changed."triggerMessageIds",
  trigger_message_id = changed."triggerMessageIds"[array_length(changed."triggerMessageIds", 1)]
from jsonb_to_recordset($3::jsonb) as changed (section text, version integer, content text, before text, "triggerMessageIds" uuid[])
where tenant_id = $1 and user_id = $2 and memory_operations.section = changed.section and memory_operations.version = changed.version`;

const REMOVE_VERSIONS = `
delete from core_memory_versions using jsonb_to_recordset($3::jsonb) as gone (section text, version integer)
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = gone.section and core_memory_versions.version = gone.version`;

interface Affected extends RebuiltSection {
  section: string;
  versions: readonly SectionVersionLines[];
  isErased: (version: SectionVersionLines) => boolean;
}

async function rebuildSections(
  transaction: Queryable,
  owner: Owner,
  { conversationId, messageIds }: ErasedMessages,
): Promise<{ sections: Affected[]; remaining: (ids: readonly string[]) => string[] }> {
  const loaded = await loadVersions(transaction, owner, { isLastEnough: false });
  const all = [...loaded.values()].flat();
  const namedIn = ({ triggerMessageIds, repeatedIn, removedBy }: SectionVersionLines["lines"][number]) => [
    ...triggerMessageIds,
    ...repeatedIn,
    ...(removedBy ?? []),
  ];
  const named = new Set(all.flatMap(({ triggerMessageIds, lines }) => [...triggerMessageIds, ...lines.flatMap(namedIn)]));
  const rows =
    messageIds === undefined
      ? await transaction.query<{ id: string }>({ name: "unlearn-gone", text: GONE_WITH, values: [[...named], conversationId] })
      : messageIds.map((id) => ({ id }));
  const gone = new Set(rows.map(({ id }) => id));
  const isGone = (id: string): boolean => gone.has(id);
  const isErased = ({ conversationId: from, triggerMessageIds }: SectionVersionLines): boolean =>
    from === conversationId && triggerMessageIds.every(isGone) && (triggerMessageIds.length > 0 || messageIds === undefined);
  const sections = [...loaded].flatMap(([section, versions]): Affected[] => {
    const isAffected = versions.some(
      (version) => isErased(version) || version.triggerMessageIds.some(isGone) || version.lines.some((line) => namedIn(line).some(isGone)),
    );
    if (!isAffected) return [];
    const candidates = versions.map((version) => ({ ...version, isErased: isErased(version) }));
    return [{ section, versions, isErased, ...rebuildSection(candidates, isGone) }];
  });
  return { sections, remaining: (ids) => ids.filter((id) => !isGone(id)) };
}

/** Null when the last version is neither erased nor changed. */
function nextVersion({ section, versions, isErased, now }: Affected, remaining: (ids: readonly string[]) => string[]) {
  const last = versions.at(-1);
  if (!last || (!isErased(last) && now.content === last.content)) return null;
  const kept = versions.filter((version) => !isErased(version));
  const of = kept.at(-1);
  return {
    section,
    version: last.version + 1, // a version number is never reused
    content: of ? now.content : "",
    updatedBy: (of ?? last).updatedBy,
    saidAt: new Date(Math.max(0, ...kept.map(({ saidAt }) => saidAt.getTime()))),
    conversationId: of?.conversationId ?? null,
    triggerMessageIds: remaining(of?.triggerMessageIds ?? []),
    lines: of ? now.lines : [],
  };
}

/**
 * Erases lines of core memory in all versions, operations, and archived memories. A section gets a new version as if the messages had never
 * been; the memory agent decides again on what has other sources too. Needs the owner's lock.
 */
export async function eraseDerivedMemory(
  transaction: Queryable,
  owner: Owner,
  erased: ErasedMessages,
): Promise<{ erased: ErasedMemory; archivedIds: string[] }> {
  const { tenantId, userId } = owner;
  const { messageIds, jobs } = erased;
  const { operations, archivedIds, restsOn } = await eraseArchive(transaction, owner, erased);
  const { sections, remaining } = await rebuildSections(transaction, owner, erased);
  await writeRebuilt(transaction, owner, sections, remaining);
  if (messageIds) await removeTurnsToReread(transaction, owner, messageIds);
  const undecided = sections.flatMap((section) => section.undecided);
  const again = [...new Set([...undecided, ...remaining(restsOn)])];
  if (await addTurnsToReread(transaction, owner, again)) await jobs.add([{ kind: "remember", tenantId, userId }]);
  const counts = { coreMemorySections: sections.length, memoryOperations: operations };
  return { erased: counts, archivedIds };
}

async function writeRebuilt(
  transaction: Queryable,
  owner: Owner,
  sections: readonly Affected[],
  remaining: (ids: readonly string[]) => string[],
): Promise<void> {
  if (sections.length === 0) return;
  const { tenantId, userId } = owner;
  const names = sections.map(({ section }) => section);
  const gone: object[] = [];
  const kept = sections.flatMap(({ section, versions, isErased, kept: stay }) => {
    gone.push(...versions.filter(isErased).map(({ version }) => ({ section, version })));
    const from = new Map(versions.map(({ version, triggerMessageIds }) => [version, triggerMessageIds]));
    return stay.map((version) => {
      const all = from.get(version.version) ?? [];
      const triggerMessageIds = remaining(all);
      return { ...version, section, triggerMessageIds, hasReadIt: triggerMessageIds.length < all.length };
    });
  });
  const changed = kept.filter(({ isChanged, hasReadIt }) => isChanged || hasReadIt);
  const next = sections.map((section) => nextVersion(section, remaining)).filter((version) => version !== null);

  const facts = new Set(sections.flatMap((section) => section.gone.map(({ content }) => lineKey(content))));
  for (const { content } of [...kept, ...next]) linesOf(content).forEach((line) => facts.delete(lineKey(line)));
  await redactReasons(transaction, owner, { sections: names, facts: [...facts], versions: kept });
  const run = (name: string, text: string, given: object[]) =>
    transaction.query({ name, text, values: [tenantId, userId, JSON.stringify(given.map((one) => ({ ...one, lines: undefined })))] });
  await run("unlearn-remove", REMOVE_VERSIONS, gone);
  await run("unlearn-change", CHANGE_VERSIONS, changed);
  await run("unlearn-change-operations", CHANGE_OPERATIONS, changed);
  await saveLines(transaction, owner, kept);
  await addVersions(transaction, owner, next);
  // Not overwritten: without the erased messages a section may be older.
  await transaction.query({
    name: "unlearn-clear",
    text: "delete from core_memory_sections where tenant_id = $1 and user_id = $2 and section = any($3)",
    values: [tenantId, userId, names],
  });
  await updateCurrentSections(transaction, owner, names);
}

interface WrittenVersion {
  section: string;
  version: number;
  /** Its author had read an erased message. */
  hasReadIt: boolean;
  /** Erased lines that its author had added or removed. */
  touched: readonly VersionLine[];
}

interface ReasonRow {
  id: string;
  section: string;
  version: number | null;
  reason: string;
}

/** A shorter line is no quotation. */
const QUOTED_CHARACTERS = 4;

/**
 * Deletes reasons that may quote erased lines: their author read an erased message, changed such a line and names a word of it, or quotes
 * one of `facts`.
 */
async function redactReasons(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { sections, facts, versions }: { sections: readonly string[]; facts: readonly string[]; versions: readonly WrittenVersion[] },
): Promise<void> {
  const rows = await transaction.query<ReasonRow>({
    name: "unlearn-reasons",
    text: "select id, section, version, reason from memory_operations where tenant_id = $1 and user_id = $2 and section = any($3) and reason is not null",
    values: [tenantId, userId, sections],
  });
  const known = new Map(versions.map((version) => [JSON.stringify([version.section, version.version]), version]));
  const quoted = facts.filter((fact) => fact.length >= QUOTED_CHARACTERS);
  const mayQuote = ({ section, version, reason }: ReasonRow): boolean => {
    const { hasReadIt = false, touched = [] } = known.get(JSON.stringify([section, version])) ?? {};
    const said = new Set(lexicalWords(reason));
    return (
      hasReadIt ||
      quoted.some((fact) => reason.includes(fact)) ||
      touched.some((line) => lexicalWords(lineKey(line.content)).some((word) => said.has(word)))
    );
  };
  const ids = rows.filter(mayQuote).map(({ id }) => id);
  await transaction.query({
    name: "unlearn-clear-reasons",
    text: "update memory_operations set reason = null where id = any($1)",
    values: [ids],
  });
}
