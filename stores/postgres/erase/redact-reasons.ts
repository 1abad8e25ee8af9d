import type { Owner } from "../../owner.ts";
import { lexicalText } from "../../../text/lexical-text.ts";
import type { Queryable } from "../database/database.ts";
import { lineKey, type VersionLine } from "../memory/section-versions.ts";

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

const wordsOf = (text: string): string[] => lexicalText(text).split(" ").filter(Boolean);

/**
 * Deletes reasons of section changes that may quote erased lines: the author had read an erased message, changed such a line and names a
 * word of it, or quotes one of `facts`.
 */
export async function redactReasons(
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
    const said = new Set(wordsOf(reason));
    return (
      hasReadIt ||
      quoted.some((fact) => reason.includes(fact)) ||
      touched.some((line) => wordsOf(lineKey(line.content)).some((word) => said.has(word)))
    );
  };
  const ids = rows.filter(mayQuote).map(({ id }) => id);
  await transaction.query({
    name: "unlearn-clear-reasons",
    text: "update memory_operations set reason = null where id = any($1)",
    values: [ids],
  });
}
