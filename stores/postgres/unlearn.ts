import type { Owner } from "../owner.ts";
import type { Queryable } from "./database.ts";
import { setCurrent, type Actor } from "./write-sections.ts";

/** What is erased: a whole conversation, or some messages of it. */
export interface Unlearned {
  conversationId: string;
  /** Undefined: all of them. */
  messageIds?: readonly string[];
}

interface VersionRow {
  section: string;
  version: number;
  content: string | null;
  updated_by: Actor;
  said_at: Date;
  /** This version came from what is erased. */
  taught: boolean;
}

/** Without message ids $4 is null, and the conversation alone tells. */
const FROM_IT = "(conversation_id = $3 and ($4::uuid[] is null or trigger_message_id = any($4)))";

const VERSIONS = `
select section, version, content, updated_by, said_at, coalesce(${FROM_IT}, false) as taught from core_memory_versions versions
where tenant_id = $1 and user_id = $2 and exists (
  select from core_memory_versions taught
  where taught.tenant_id = $1 and taught.user_id = $2 and taught.section = versions.section and ${FROM_IT.replaceAll("conversation_id", "taught.conversation_id").replaceAll("trigger_message_id", "taught.trigger_message_id")})
order by section, version
for update`;

const OPERATIONS = `
select id, old_value, new_value from memory_operations
where tenant_id = $1 and user_id = $2 and section = any($3) and (old_value is not null or new_value is not null)`;

const linesOf = (content: string | null): string[] => (content ?? "").split("\n").filter((line) => line.trim() !== "");
const without = (content: string | null, lines: ReadonlySet<string>): string | null =>
  content === null
    ? null
    : linesOf(content)
        .filter((line) => !lines.has(line))
        .join("\n");

/** The versions of one section as they would be had it not been said, and every line that came in by it. */
export function unlearnVersions(versions: readonly Omit<VersionRow, "section" | "updated_by" | "said_at">[]): {
  kept: { version: number; content: string | null }[];
  lines: Set<string>;
} {
  const lines = new Set<string>();
  const kept: { version: number; content: string | null }[] = [];
  let before: readonly string[] = [];
  let tainted = new Set<string>();
  for (const { version, content, taught } of versions) {
    const now = linesOf(content);
    // What was taken up again by someone else, after it was gone, is theirs.
    tainted = new Set(now.filter((line) => tainted.has(line)));
    if (taught) {
      for (const line of now) {
        if (before.includes(line)) continue;
        tainted.add(line);
        lines.add(line);
      }
    } else kept.push({ version, content: without(content, tainted) });
    before = now;
  }
  return { kept, lines };
}

/**
 * Takes out of a user's core memory what is erased had brought into it: the versions it gave rise to, the lines they brought in wherever
 * those live on, and the operations. A section goes back to what it would be without. The transaction holds the owner's lock. Returns how
 * many sections it touched and how many operations are gone.
 */
export async function unlearn(
  transaction: Queryable,
  owner: Owner,
  { conversationId, messageIds }: Unlearned,
): Promise<{ sections: number; operations: number }> {
  const about = [owner.tenantId, owner.userId, conversationId, messageIds ?? null];
  const removed = await transaction.query({
    name: "unlearn-operations",
    text: `delete from memory_operations where tenant_id = $1 and user_id = $2 and ${FROM_IT} returning id`,
    values: about,
  });
  const rows = await transaction.query<VersionRow>({ name: "unlearn-versions", text: VERSIONS, values: about });
  const sections = [...new Set(rows.map(({ section }) => section))];
  if (sections.length === 0) return { sections: 0, operations: removed.length };

  const gone: { section: string; version: number }[] = [];
  const changed: { section: string; version: number; content: string | null }[] = [];
  const allLines = new Set<string>();
  for (const section of sections) {
    const versions = rows.filter((row) => row.section === section);
    const { kept, lines } = unlearnVersions(versions);
    for (const line of lines) allLines.add(line);
    const contentOf = new Map(kept.map(({ version, content }) => [version, content]));
    for (const { version, content } of versions) {
      const left = contentOf.get(version);
      if (left === undefined) gone.push({ section, version });
      else if (left !== content) changed.push({ section, version, content: left });
    }
  }
  await transaction.query({
    name: "unlearn-remove",
    text: `delete from core_memory_versions using jsonb_to_recordset($3::jsonb) as gone (section text, version integer)
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = gone.section and core_memory_versions.version = gone.version`,
    values: [owner.tenantId, owner.userId, JSON.stringify(gone)],
  });
  // A section with nothing left in it is no section: nulls stand for those that are removed.
  await transaction.query({
    name: "unlearn-change",
    text: `update core_memory_versions set content = nullif(changed.content, '')
from jsonb_to_recordset($3::jsonb) as changed (section text, version integer, content text)
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = changed.section and core_memory_versions.version = changed.version`,
    values: [owner.tenantId, owner.userId, JSON.stringify(changed)],
  });
  await transaction.query({
    name: "unlearn-current",
    text: "delete from core_memory_sections where tenant_id = $1 and user_id = $2 and section = any($3)",
    values: [owner.tenantId, owner.userId, sections],
  });
  await setCurrent(transaction, owner, sections);
  await unlearnOperations(transaction, owner, sections, allLines);
  return { sections: sections.length, operations: removed.length };
}

/** Operations of others on these sections hold the same lines, as what was there before or after. */
async function unlearnOperations(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  sections: string[],
  lines: ReadonlySet<string>,
): Promise<void> {
  const rows = await transaction.query<{ id: string; old_value: string | null; new_value: string | null }>({
    name: "unlearn-read-operations",
    text: OPERATIONS,
    values: [tenantId, userId, sections],
  });
  const changed = rows
    .map(({ id, old_value, new_value }) => ({ id, old_value: without(old_value, lines), new_value: without(new_value, lines) }))
    .filter((row, position) => row.old_value !== rows[position]?.old_value || row.new_value !== rows[position]?.new_value);
  if (changed.length === 0) return;
  await transaction.query({
    name: "unlearn-change-operations",
    text: `update memory_operations set old_value = changed.old_value, new_value = changed.new_value
from jsonb_to_recordset($3::jsonb) as changed (id uuid, old_value text, new_value text)
where tenant_id = $1 and user_id = $2 and memory_operations.id = changed.id`,
    values: [tenantId, userId, JSON.stringify(changed)],
  });
}
