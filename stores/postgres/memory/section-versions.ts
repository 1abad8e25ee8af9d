import type { Owner } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";
import { type Actor, ALL_TRIGGERS } from "./operation-store.ts";

/** A line of a section and its sources, messages of the user. */
export interface MemoryLine {
  content: string;
  /** An erase of any of these messages takes the line. Empty when no message caused it, as for a person's line. */
  triggerMessageIds: readonly string[];
  repeatedIn: readonly string[];
}

export const linesOf = (content: string | null): string[] => (content ?? "").split("\n").filter((line) => line.trim() !== "");

/** Equal for lines that differ in blanks and list marks only. */
export const lineKey = (line: string): string =>
  line
    .replace(/^\s*[-*•]\s+/u, "")
    .replace(/\s+/gu, " ")
    .trim();

/** Lines by key; of equal ones the first. */
export function linesByKey<Line extends { content: string }>(lines: readonly Line[]): Map<string, Line> {
  return new Map(lines.toReversed().map((line) => [lineKey(line.content), line]));
}

/** A section's line keeps its sources; one from `elsewhere` also gets `triggerMessageIds`; a new line gets only these. */
export function inheritSources(
  content: string | null,
  { before, elsewhere }: { before: readonly MemoryLine[]; elsewhere: readonly MemoryLine[] },
  triggerMessageIds: readonly string[],
): MemoryLine[] {
  const [here, there] = [linesByKey(before), linesByKey(elsewhere)];
  return linesOf(content).map((line) => {
    const known = here.get(lineKey(line));
    if (known) return { ...known, content: line };
    const moved = there.get(lineKey(line));
    const triggers = [...new Set([...(moved?.triggerMessageIds ?? []), ...triggerMessageIds])];
    return { content: line, triggerMessageIds: triggers, repeatedIn: moved?.repeatedIn ?? [] };
  });
}

export interface VersionLine extends MemoryLine {
  /** Messages that removed it in the next version. Null: if it is missing there, the trigger messages of that version. */
  removedBy: readonly string[] | null;
}

export interface SectionVersionLines {
  section: string;
  version: number;
  content: string | null;
  updatedBy: Actor;
  saidAt: Date;
  conversationId: string | null;
  triggerMessageIds: readonly string[];
  lines: readonly VersionLine[];
}

type LineRow = [triggers: string[], repeatedIn: string[], removedBy: string[] | null];

interface VersionRow extends Omit<SectionVersionLines, "lines"> {
  lineRows: LineRow[] | null;
}

/** $3: start at the last version of each section whose lines are stored. */
const VERSIONS = `
select section, version, content, updated_by as "updatedBy", said_at as "saidAt", conversation_id as "conversationId",
  ${ALL_TRIGGERS} as "triggerMessageIds", (
    select json_agg(json_build_array(lines.trigger_message_ids, repeated_in, removed_by) order by position) from core_memory_lines lines
    where lines.tenant_id = $1 and lines.user_id = $2 and lines.section = versions.section and lines.version = versions.version
  ) as "lineRows"
from core_memory_versions versions
where tenant_id = $1 and user_id = $2 and (not $3 or version >= coalesce((
  select max(version) from core_memory_lines stored where stored.tenant_id = $1 and stored.user_id = $2 and stored.section = versions.section), 0))
order by section, version`;

function toLines(
  { content, triggerMessageIds }: Omit<VersionRow, "lineRows">,
  lineRows: VersionRow["lineRows"],
  before: readonly MemoryLine[],
): VersionLine[] {
  const texts = linesOf(content);
  if (lineRows?.length === texts.length) {
    return lineRows.map(([triggers, repeatedIn, removedBy], position) => {
      return { content: texts[position] ?? "", triggerMessageIds: triggers, repeatedIn, removedBy };
    });
  }
  return inheritSources(content, { before, elsewhere: [] }, triggerMessageIds).map((line) => ({ ...line, removedBy: null }));
}

/** Versions by section, oldest first. Lines without stored sources inherit those of the version before. */
export async function loadVersions(
  database: Queryable,
  { tenantId, userId }: Owner,
  { isLastEnough }: { isLastEnough: boolean },
): Promise<Map<string, SectionVersionLines[]>> {
  const rows = await database.query<VersionRow>({ name: "section-versions", text: VERSIONS, values: [tenantId, userId, isLastEnough] });
  const versions = new Map<string, SectionVersionLines[]>();
  for (const row of rows) {
    const ofSection = versions.get(row.section) ?? [];
    const { lineRows, ...version } = row;
    ofSection.push({ ...version, lines: toLines(version, lineRows, ofSection.at(-1)?.lines ?? []) });
    versions.set(row.section, ofSection);
  }
  return versions;
}

const SAVE_LINES = `
insert into core_memory_lines (tenant_id, user_id, section, version, position, trigger_message_ids, repeated_in, removed_by)
select $1, $2, section, version, position, "triggerMessageIds", "repeatedIn", "removedBy"
from jsonb_to_recordset($3::jsonb) as given (section text, version integer, position integer, "triggerMessageIds" uuid[], "repeatedIn" uuid[],
  "removedBy" uuid[])
on conflict (tenant_id, user_id, section, version, position) do update
set trigger_message_ids = excluded.trigger_message_ids, repeated_in = excluded.repeated_in, removed_by = excluded.removed_by`;

export async function saveLines(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  versions: readonly Pick<SectionVersionLines, "section" | "version" | "lines">[],
): Promise<void> {
  const rows = versions.flatMap(({ section, version, lines }) =>
    lines.map(({ triggerMessageIds, repeatedIn, removedBy }, position) => {
      return { section, version, position, triggerMessageIds, repeatedIn, removedBy };
    }),
  );
  if (rows.length === 0) return;
  await transaction.query({ name: "section-save-lines", text: SAVE_LINES, values: [tenantId, userId, JSON.stringify(rows)] });
}
