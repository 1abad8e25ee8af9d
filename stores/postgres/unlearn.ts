import type { Owner } from "../owner.ts";
import type { Queryable } from "./database.ts";
import { factOf, linesOf, unlearnVersions } from "./unlearn-versions.ts";
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
  conversation_id: string | null;
  trigger_message_id: string | null;
  /** This version came from what is erased. */
  taught: boolean;
}

/** Without message ids $4 is null, and the conversation alone tells. */
const FROM_IT = "(conversation_id = $3 and ($4::uuid[] is null or trigger_message_id = any($4)))";

const VERSIONS = `
select section, version, content, updated_by, said_at, conversation_id, trigger_message_id, coalesce(${FROM_IT}, false) as taught from core_memory_versions versions
where tenant_id = $1 and user_id = $2 and exists (
  select from core_memory_versions taught
  where taught.tenant_id = $1 and taught.user_id = $2 and taught.section = versions.section and ${FROM_IT.replaceAll("conversation_id", "taught.conversation_id").replaceAll("trigger_message_id", "taught.trigger_message_id")})
order by section, version
for update`;

const CHANGE_VERSIONS = `
update core_memory_versions set content = changed.content
from jsonb_to_recordset($3::jsonb) as changed (section text, version integer, content text)
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = changed.section and core_memory_versions.version = changed.version`;

const CHANGE_OPERATIONS = `
update memory_operations set old_value = changed.before, new_value = changed.content
from jsonb_to_recordset($3::jsonb) as changed (section text, version integer, content text, before text)
where tenant_id = $1 and user_id = $2 and memory_operations.section = changed.section and memory_operations.version = changed.version`;

const REMOVE_VERSIONS = `
delete from core_memory_versions using jsonb_to_recordset($3::jsonb) as gone (section text, version integer)
where tenant_id = $1 and user_id = $2 and core_memory_versions.section = gone.section and core_memory_versions.version = gone.version`;

/** Others may have said why they changed a section by quoting what is erased. */
const CLEAR_REASONS = `
update memory_operations set reason = null
where tenant_id = $1 and user_id = $2 and section = any($3) and exists (select from unnest($4::text[]) as fact where strpos(reason, fact) > 0)`;
/** A shorter line says too little to be a quotation. */
const QUOTED_CHARACTERS = 4;

/** The highest number and one more: a number that was seen is never given to something else. */
const ADD_CURRENT = `
insert into core_memory_versions (tenant_id, user_id, section, version, content, updated_by, said_at, conversation_id, trigger_message_id, created_at)
select $1, $2, section, version, content, updated_by, said_at, conversation_id, trigger_message_id, clock_timestamp()
from jsonb_to_recordset($3::jsonb) as given (section text, version integer, content text, updated_by text, said_at timestamptz,
  conversation_id uuid, trigger_message_id uuid)`;

/**
 * Takes out of a user's core memory what is erased had brought into it: the versions it gave rise to, what they changed, wherever that
 * lives on, and the operations. A section becomes, as a new version, what it would be had it not been said. The transaction holds the
 * owner's lock. Returns how many sections it touched and how many operations are gone.
 */
export async function unlearn(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { conversationId, messageIds }: Unlearned,
): Promise<{ sections: number; operations: number }> {
  const about = [tenantId, userId, conversationId, messageIds ?? null];
  const removed = await transaction.query({
    name: "unlearn-operations",
    text: `delete from memory_operations where tenant_id = $1 and user_id = $2 and ${FROM_IT} returning id`,
    values: about,
  });
  const rows = await transaction.query<VersionRow>({ name: "unlearn-versions", text: VERSIONS, values: about });
  const sections = [...new Set(rows.map(({ section }) => section))];
  if (sections.length === 0) return { sections: 0, operations: removed.length };

  const gone: object[] = [];
  const changed: object[] = [];
  const current: object[] = [];
  for (const section of sections) {
    const versions = rows.filter((row) => row.section === section);
    const kept = new Map(unlearnVersions(versions).map((one) => [one.version, one]));
    for (const { version, content } of versions) {
      const left = kept.get(version);
      if (!left) gone.push({ section, version });
      else if (left.content !== content || left.isAfterErased) changed.push({ section, ...left });
    }
    const last = versions.at(-1);
    const lastKept = versions.findLast(({ taught }) => !taught);
    const content = lastKept ? (kept.get(lastKept.version)?.content ?? null) : "";
    if (!last || (!last.taught && content === last.content)) continue;
    const { updated_by, conversation_id, trigger_message_id } = lastKept ?? { ...last, conversation_id: null, trigger_message_id: null };
    const times = versions.filter(({ taught }) => !taught).map((one) => one.said_at.getTime());
    const said_at = new Date(Math.max(0, ...times));
    current.push({ section, version: last.version + 1, content, updated_by, said_at, conversation_id, trigger_message_id });
  }
  const left = new Set(changed.concat(current).flatMap((one) => linesOf((one as { content: string | null }).content).map(factOf)));
  const facts = new Set(rows.filter(({ taught }) => taught).flatMap(({ content }) => linesOf(content).map(factOf)));
  const quoted = [...facts].filter((fact) => fact.length >= QUOTED_CHARACTERS && !left.has(fact));
  await transaction.query({ name: "unlearn-reasons", text: CLEAR_REASONS, values: [tenantId, userId, sections, quoted] });
  const run = (name: string, text: string, given: object[]) =>
    transaction.query({ name, text, values: [tenantId, userId, JSON.stringify(given)] });
  await run("unlearn-remove", REMOVE_VERSIONS, gone);
  await run("unlearn-change", CHANGE_VERSIONS, changed);
  await run("unlearn-change-operations", CHANGE_OPERATIONS, changed);
  await run("unlearn-current", ADD_CURRENT, current);
  // Anew, and not over the old: what a section says may be older without what is erased.
  await transaction.query({
    name: "unlearn-clear",
    text: "delete from core_memory_sections where tenant_id = $1 and user_id = $2 and section = any($3)",
    values: [tenantId, userId, sections],
  });
  await setCurrent(transaction, { tenantId, userId }, sections);
  return { sections: sections.length, operations: removed.length };
}
