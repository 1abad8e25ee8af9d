import { AppError } from "../../errors/app-error.ts";
import { makeJobQueue } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import { ownerKey } from "../search/owner-key.ts";
import type { Database } from "./database.ts";
import { lockOwner } from "./lock-owner.ts";
import { writeSections, type Actor, type StoredSection } from "./write-sections.ts";

/** A version a section had; `content` is null where it was removed. */
export interface SectionVersion {
  version: number;
  content: string | null;
  updatedBy: Actor;
  createdAt: Date;
  conversationId: string | null;
  triggerMessageId: string | null;
}

/** What a person asks for; `expectedVersion` undefined: whatever version there is, 0: only if there is none. */
export interface SectionEdit {
  section: string;
  expectedVersion?: number | undefined;
}

/** Core memory as it was at one moment. */
export interface LoadedCoreMemory {
  sections: StoredSection[];
  /** When this user was last erased, as far as is recorded; null: never. */
  lastErasure: string | null;
}

/** A user's core memory as people see and edit it; every edit is a version and a memory operation. */
export interface CoreMemoryStore {
  /** The sections that are there, by name, read at one moment. */
  load(owner: Owner): Promise<LoadedCoreMemory>;
  /** Writes a new version. Throws AppError `stale_version`. */
  put(owner: Owner, edit: SectionEdit & { content: string }): Promise<StoredSection>;
  /** The version that says so, without content; null when there is no such section. Throws AppError `stale_version`. */
  remove(owner: Owner, edit: SectionEdit): Promise<StoredSection | null>;
  /** Writes the content of an earlier version as a new one; null when there is no such version. Throws AppError `stale_version`. */
  revert(owner: Owner, edit: SectionEdit & { version: number }): Promise<StoredSection | null>;
  /** The newest versions first; those before `before`, when given. */
  history(owner: Owner, section: string, page: { limit: number; before: number | null }): Promise<SectionVersion[]>;
}

/** When an owner was last erased as a whole, as text; null: never. `parameter` is the place of the owner's key. */
export function lastErasureOf(parameter: string): string {
  return `(select max(erased_at)::text from erase_markers where owner_key = ${parameter} and group_id is null and episode_id is null)`;
}

const LOAD = `
select section, content, version, updated_by as "updatedBy", updated_at as "updatedAt", said_at as "saidAt"
from core_memory_sections where tenant_id = $1 and user_id = $2 order by section`;

/** One statement, one snapshot: what is loaded is older than an erase exactly if the erase is not seen. */
const LOAD_WITH_ERASURE = `
select (select coalesce(json_agg(loaded), '[]') from (${LOAD}) loaded) as sections, ${lastErasureOf("$3")} as last_erasure`;

const HISTORY = `
select version, content, updated_by as "updatedBy", created_at as "createdAt", conversation_id as "conversationId",
  trigger_message_id as "triggerMessageId"
from core_memory_versions
where tenant_id = $1 and user_id = $2 and section = $3 and version < coalesce($4::integer, 2147483647)
order by version desc limit $5`;

const CONTENT_OF = "select content from core_memory_versions where tenant_id = $1 and user_id = $2 and section = $3 and version = $4";

function stale({ section, expectedVersion }: SectionEdit): AppError {
  const wanted = expectedVersion === 0 ? "is there already" : `is no longer at version ${expectedVersion}`;
  return new AppError("stale_version", `The section "${section}" ${wanted}. Read it again, and send its present version in If-Match.`);
}

/** The core memory of a database; edits run in transactions of `queue`. */
export function makeCoreMemoryStore(database: Database, queue = makeJobQueue(database)): CoreMemoryStore {
  /** Writes one section for a person; null when what is wanted makes no sense for what is there. */
  function edit(
    owner: Owner,
    { section, expectedVersion }: SectionEdit,
    change: (
      transaction: Parameters<Parameters<Database["transaction"]>[0]>[0],
    ) => Promise<{ content: string | null; reason: string | null } | null>,
  ): Promise<StoredSection | null> {
    return queue.transaction(async (transaction) => {
      await lockOwner(transaction, owner);
      const changed = await change(transaction);
      if (!changed) return null;
      const written = await writeSections(transaction, owner, [
        {
          section,
          content: changed.content,
          expectedVersion,
          actor: "person",
          reason: changed.reason,
          conversationId: null,
          triggerMessageId: null,
          saidAt: null,
        },
      ]);
      if (!written) throw stale({ section, expectedVersion });
      return written[0] ?? null;
    });
  }

  return {
    async load({ tenantId, userId }) {
      const [row] = await database.query<{ sections: StoredSection[]; last_erasure: string | null }>({
        name: "core-memory-load",
        text: LOAD_WITH_ERASURE,
        values: [tenantId, userId, ownerKey(tenantId, userId)],
      });
      const sections = (row?.sections ?? []).map((section) => {
        return { ...section, updatedAt: new Date(section.updatedAt), saidAt: new Date(section.saidAt) };
      });
      return { sections, lastErasure: row?.last_erasure ?? null };
    },

    async put(owner, { content, ...about }) {
      const written = await edit(owner, about, async () => ({ content, reason: null }));
      if (!written) throw new Error("a section that was written has no version");
      return written;
    },

    remove: (owner, about) =>
      edit(owner, about, async (transaction) => {
        const there = await transaction.query({
          text: "select from core_memory_sections where tenant_id = $1 and user_id = $2 and section = $3",
          values: [owner.tenantId, owner.userId, about.section],
        });
        return there.length === 0 ? null : { content: null, reason: null };
      }),

    revert: (owner, { version, ...about }) =>
      edit(owner, about, async (transaction) => {
        const [found] = await transaction.query<{ content: string | null }>({
          text: CONTENT_OF,
          values: [owner.tenantId, owner.userId, about.section, version],
        });
        return found ? { content: found.content, reason: `Back to version ${version}.` } : null;
      }),

    history: ({ tenantId, userId }, section, { limit, before }) =>
      database.query<SectionVersion>({ name: "core-memory-history", text: HISTORY, values: [tenantId, userId, section, before, limit] }),
  };
}
