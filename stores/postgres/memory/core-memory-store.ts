import { AppError } from "../../../errors/app-error.ts";
import { makeJobQueue } from "../../jobs/job-queue.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { ownerKey } from "../../index-keys.ts";
import type { Database, Queryable } from "../database/database.ts";
import { readGathered } from "../database/gathered-reads.ts";
import { lockOwner } from "../paths/locks.ts";
import { linesByKey, loadVersions, type MemoryLine } from "./section-versions.ts";
import { type SectionChange, type StoredSection, writeSections } from "./write-sections.ts";
import type { Actor } from "./operation-store.ts";

/** A version of a section; `content` null removed it. */
export interface SectionVersion {
  version: number;
  content: string | null;
  updatedBy: Actor;
  createdAt: Date;
  conversationId: string | null;
  triggerMessageId: string | null;
}

/** An edit by a person; `expectedVersion` undefined: any version, 0: no section. */
export interface SectionEdit {
  section: string;
  expectedVersion?: number | undefined;
}

export interface LoadedCoreMemory {
  sections: StoredSection[];
  /** When this user was last erased, or null. */
  lastErasure: string | null;
}

export interface SectionWithLines extends StoredSection {
  lines: readonly MemoryLine[];
}

/** A user's core memory; every edit is a version and a memory operation. Edits throw AppError `stale_version`. */
export interface CoreMemoryStore {
  /** The present sections by name, as of one moment. */
  load(owner: Owner): Promise<LoadedCoreMemory>;
  loadLines(owner: Owner): Promise<SectionWithLines[]>;
  /** Keys of lines from these messages that a person removed for good. */
  leftOutByPeople(owner: Owner, messageIds: readonly string[]): Promise<Set<string>>;
  /** `actor`: default a person. An agent that writes outside a turn rests on no message either. */
  put(owner: Owner, edit: SectionEdit & { content: string; actor?: "person" | "agent" }): Promise<StoredSection>;
  /** Writes as the agent of a turn, upon this message of the user. */
  putForAgent(conversation: OwnedConversation, edit: { section: string; content: string; messageId: string }): Promise<StoredSection>;
  /** Adds a version without content; null when there is no such section. */
  remove(owner: Owner, edit: SectionEdit): Promise<StoredSection | null>;
  /** Writes an earlier version as a new one; null when there is no such version. */
  revert(owner: Owner, edit: SectionEdit & { version: number }): Promise<StoredSection | null>;
  /** Newest first. */
  history(owner: Owner, section: string, page: { limit: number; before: number | null }): Promise<SectionVersion[]>;
}

/** SQL: when an owner was last erased as a whole, as text. `parameter` is the place of the owner's key. */
export function lastErasureSql(parameter: string): string {
  return `(select max(erased_at)::text from erase_markers where owner_key = ${parameter} and group_id is null and episode_id is null)`;
}

const load = (tenant: string, user: string): string => `
select section, content, version, updated_by as "updatedBy", updated_at as "updatedAt", said_at as "saidAt"
from core_memory_sections where tenant_id = ${tenant} and user_id = ${user} order by section`;

const LOAD = load("$1", "$2");

const loadWithErasure = (tenant: string, user: string, key: string): string => `json_build_object(
  'sections', (select coalesce(json_agg(loaded), '[]') from (${load(tenant, user)}) loaded), 'lastErasure', ${lastErasureSql(key)})`;

const HISTORY = `
select version, content, updated_by as "updatedBy", created_at as "createdAt", conversation_id as "conversationId",
  trigger_message_id as "triggerMessageId"
from core_memory_versions
where tenant_id = $1 and user_id = $2 and section = $3 and version < coalesce($4::integer, 2147483647)
order by version desc limit $5`;

function stale({ section, expectedVersion }: SectionEdit): AppError {
  const wanted = expectedVersion === 0 ? "is there already" : `is no longer at version ${expectedVersion}`;
  return new AppError("stale_version", `The section "${section}" ${wanted}. Read it again, and send its current version in If-Match.`);
}

const BY_A_PERSON = { actor: "person" as const, conversationId: null, triggerMessageIds: [], saidAt: null };

/** The core memory of a database. */
export function makeCoreMemoryStore(database: Database, queue = makeJobQueue(database)): CoreMemoryStore {
  function edit(
    owner: Owner,
    { section, expectedVersion }: SectionEdit,
    change: (transaction: Queryable) => Promise<Pick<SectionChange, "content" | "reason" | "lineChange"> | null>,
    from: Pick<SectionChange, "actor" | "conversationId" | "triggerMessageIds" | "saidAt"> = BY_A_PERSON,
  ): Promise<StoredSection | null> {
    return queue.transaction(async (transaction) => {
      await lockOwner(transaction, owner);
      const changed = await change(transaction);
      if (!changed) return null;
      const written = await writeSections(transaction, owner, [{ ...changed, ...from, section, expectedVersion }]);
      if (!written) throw stale({ section, expectedVersion });
      return written[0] ?? null;
    });
  }

  return {
    load: ({ tenantId, userId }) =>
      readGathered(database, {
        name: "core-memory-load",
        json: (place) => loadWithErasure(place(1), place(2), place(3)),
        values: [tenantId, userId, ownerKey(tenantId, userId)],
        toResult(json) {
          const { sections, lastErasure } = json as LoadedCoreMemory;
          const withDates = ({ updatedAt, saidAt, ...section }: StoredSection) => {
            return { ...section, updatedAt: new Date(updatedAt), saidAt: new Date(saidAt) };
          };
          return { sections: sections.map(withDates), lastErasure };
        },
      }),

    async loadLines(owner) {
      const values = [owner.tenantId, owner.userId];
      const sections = await database.query<StoredSection>({ name: "core-memory-list", text: LOAD, values });
      const versions = await loadVersions(database, owner, { isLastEnough: true });
      return sections.flatMap((section) => {
        const version = versions.get(section.section)?.find((one) => one.version === section.version);
        return version ? [{ ...section, lines: version.lines }] : [];
      });
    },

    async leftOutByPeople(owner, messageIds) {
      const sections = [...(await loadVersions(database, owner, { isLastEnough: false })).values()];
      const isOfThem = ({ triggerMessageIds, repeatedIn }: MemoryLine): boolean =>
        [...triggerMessageIds, ...repeatedIn].some((id) => messageIds.includes(id));
      const before = sections.flatMap((versions) =>
        versions.flatMap(({ lines }, index) => (versions[index + 1]?.updatedBy === "person" ? lines.filter(isOfThem) : [])),
      );
      const now = linesByKey(sections.flatMap((versions) => versions.at(-1)?.lines ?? []));
      return new Set([...linesByKey(before).keys()].filter((fact) => !now.has(fact)));
    },

    async put(owner, { content, actor = "person", ...about }) {
      const change = async () => ({ content, reason: null, lineChange: null });
      const written = await edit(owner, about, change, { ...BY_A_PERSON, actor });
      if (!written) throw new Error("a section that was written has no version");
      return written;
    },

    async putForAgent({ tenantId, userId, conversationId }, { section, content, messageId }) {
      const from = { actor: "agent" as const, conversationId, triggerMessageIds: [messageId], saidAt: null };
      const change = async () => ({ content, reason: null, lineChange: null });
      const written = await edit({ tenantId, userId }, { section }, change, from);
      if (!written) throw new Error("a section that was written has no version");
      return written;
    },

    remove: (owner, about) =>
      edit(owner, about, async (transaction) => {
        const there = await transaction.query({
          text: "select from core_memory_sections where tenant_id = $1 and user_id = $2 and section = $3",
          values: [owner.tenantId, owner.userId, about.section],
        });
        return there.length === 0 ? null : { content: null, reason: null, lineChange: null };
      }),

    revert: (owner, { version, ...about }) =>
      edit(owner, about, async (transaction) => {
        const versions = (await loadVersions(transaction, owner, { isLastEnough: false })).get(about.section);
        const found = versions?.find((one) => one.version === version);
        if (!found) return null;
        const lineChange = { lines: found.lines, removedBy: new Map() };
        return { content: found.content, reason: `Back to version ${version}.`, lineChange };
      }),

    history: ({ tenantId, userId }, section, { limit, before }) =>
      database.query<SectionVersion>({ name: "core-memory-history", text: HISTORY, values: [tenantId, userId, section, before, limit] }),
  };
}
