import { type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { onAnyPathSql, onPathSql } from "../paths/branch-path.ts";
import { lockOwner } from "../paths/locks.ts";
import type { Database, Queryable } from "../database/database.ts";
import { rebuildSection } from "./rebuild-section.ts";
import { lineKey, loadVersions, type MemoryLine, type SectionVersionLines, type VersionLine } from "./section-versions.ts";
import { addTurnsToReread } from "./turns-to-reread.ts";
import { type SectionChange, writeSections } from "./write-sections.ts";

/** Marks operations of facts that are decided anew because a branch took their messages off the path or brought them back. */
export const EDITED = "edited";

const CHANGED = `
select id from conversations where tenant_id = $1 and user_id = $2 and path is distinct from remembered_path
order by id limit 1 for update`;

/** Returning turns are read again if they had been read; leaving turns are not. */
const FOLLOW = `
with conversation as materialized (
  select id, path, remembered_path from conversations where id = $1
), left_alone as (
  delete from turns_to_read_again using messages, conversation
  where turns_to_read_again.conversation_id = $1 and messages.id = message_id and not ${onPathSql("messages", "conversation.path")}
), back as (
  insert into turns_to_read_again (message_id, conversation_id, noted_at)
  select messages.id, $1, clock_timestamp() from messages cross join conversation join memory_cursors on memory_cursors.conversation_id = conversation.id
  where messages.conversation_id = $1 and messages.role = 'user' and messages.completed and remembered_path is not null
    and (messages.created_at, messages.id) <= (read_through_created_at, read_through_message_id)
    and ${onPathSql("messages", "conversation.path")} and not ${onPathSql("messages", "conversation.remembered_path")}
  on conflict (message_id) do nothing
)
update conversations set remembered_path = path where id = $1`;

const OFF_PATH = `
select messages.id from messages join conversations on conversations.id = conversation_id
where messages.id = any($3) and tenant_id = $1 and user_id = $2 and not ${onAnyPathSql("messages", "path")}`;

const sourcesOf = ({ triggerMessageIds, repeatedIn }: MemoryLine): string[] => [...triggerMessageIds, ...repeatedIn];

/** Keeps a line that rests on any message of the path. */
function withoutLostSources(line: VersionLine, isOff: (id: string) => boolean): VersionLine {
  const left = sourcesOf(line).filter((id) => !isOff(id));
  return left.length === 0 ? line : { ...line, triggerMessageIds: left, repeatedIn: [] };
}

interface Decided {
  change: Pick<SectionChange, "section" | "content" | "saidAt" | "lineChange"> | null;
  undecided: string[];
}

/** A section as if what is off the path had not been said. Its history stays. */
function decide(section: string, versions: readonly SectionVersionLines[], isOff: (id: string) => boolean): Decided {
  const candidates = versions.map((version) => ({
    ...version,
    lines: version.lines.map((line) => withoutLostSources(line, isOff)),
    isErased: false,
  }));
  const { now, undecided } = rebuildSection(candidates, isOff);
  const last = versions.at(-1);
  const content = now.content ?? "";
  if (!last || content === (last.content ?? "")) return { change: null, undecided };
  const written = new Map(versions.flatMap(({ lines }) => lines.map((line) => [lineKey(line.content), line])));
  const lines = now.lines.map((line) => ({ ...(written.get(lineKey(line.content)) ?? line), content: line.content }));
  return { change: { section, content, saidAt: last.saidAt, lineChange: { lines, removedBy: new Map() } }, undecided };
}

async function decideFacts(transaction: Queryable, owner: Owner, conversationId: string): Promise<void> {
  const sections = await loadVersions(transaction, owner, { isLastEnough: false });
  const named = [...sections.values()]
    .flat()
    .flatMap(({ triggerMessageIds, lines }) => [
      ...triggerMessageIds,
      ...lines.flatMap((line) => [...sourcesOf(line), ...(line.removedBy ?? [])]),
    ]);
  if (named.length === 0) return;
  const values = [owner.tenantId, owner.userId, [...new Set(named)]];
  const rows = await transaction.query<{ id: string }>({ name: "follow-off-path", text: OFF_PATH, values });
  const off = new Set(rows.map(({ id }) => id));
  const decided = [...sections].map(([section, versions]) => decide(section, versions, (id) => off.has(id)));
  const about = { expectedVersion: undefined, actor: "agent" as const, reason: EDITED, conversationId, triggerMessageIds: [] };
  const changes = decided.flatMap(({ change }) => (change ? [{ ...about, ...change }] : []));
  if (changes.length > 0) await writeSections(transaction, owner, changes);
  await addTurnsToReread(
    transaction,
    owner,
    [...new Set(decided.flatMap(({ undecided }) => undecided))].filter((id) => !off.has(id)),
  );
}

/** Brings core memory in line with the paths of a user's conversations; returns whether anything changed. */
export type FollowPaths = (owner: Owner) => Promise<boolean>;

/**
 * Decides facts anew that rest only on messages off the path; the memory agent reads again what has come back. Asks no model. See
 * docs/decisions/0077.
 */
export function makeFollowPaths(database: Database, queue: JobQueue = makeJobQueue(database)): FollowPaths {
  const followOne = (owner: Owner): Promise<boolean> =>
    queue.transaction(async (transaction) => {
      await lockOwner(transaction, owner);
      const changed = { name: "follow-changed", text: CHANGED, values: [owner.tenantId, owner.userId] };
      const [conversation] = await transaction.query<{ id: string }>(changed);
      if (!conversation) return false;
      await transaction.query({ name: "follow-path", text: FOLLOW, values: [conversation.id] });
      await decideFacts(transaction, owner, conversation.id);
      return true;
    });
  return async function followPaths(owner) {
    let count = 0;
    while (await followOne(owner)) count++;
    return count > 0;
  };
}
