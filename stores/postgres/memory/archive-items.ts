import type { Owner } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";

/** The conversation that holds what programs put into a user's archive. */
export const ARCHIVE_SESSION = "store";

/** A user's memory beside core memory, archived by the memory agent or put there by a program. */
export interface ArchiveItem {
  /** The id of the archived memory, or of the message that holds it. */
  id: string;
  /** The id, or the program's key. */
  key: string;
  content: string;
  episodeType: string;
  importance: number | null;
  conversationId: string;
  createdAt: Date;
}

export interface ArchiveItemStore {
  find(owner: Owner, key: string): Promise<ArchiveItem | null>;
  /** Finds the items among these ids, in any order. */
  findAll(owner: Owner, ids: readonly string[]): Promise<ArchiveItem[]>;
  /** The newest first. */
  list(owner: Owner, page: { limit: number; offset: number }): Promise<ArchiveItem[]>;
}

const ITEMS = `
with items as (
  select archived_memories.id, archived_memories.id::text as key, content, episode_type as "episodeType", importance,
    conversation_id as "conversationId", archived_memories.created_at as "createdAt"
  from archived_memories join conversations on conversations.id = conversation_id where tenant_id = $1 and user_id = $2
  union all
  select messages.id, messages.metadata->>'external_id', content, 'context', null, conversation_id, messages.created_at
  from messages join conversations on conversations.id = conversation_id
  where tenant_id = $1 and user_id = $2 and session_id = '${ARCHIVE_SESSION}' and messages.metadata->>'external_id' is not null
)
select * from items`;

export function makeArchiveItemStore(database: Database): ArchiveItemStore {
  return {
    async find({ tenantId, userId }, key) {
      const values = [tenantId, userId, key];
      return (await database.query<ArchiveItem>({ name: "archive-item", text: `${ITEMS} where key = $3`, values }))[0] ?? null;
    },
    async findAll({ tenantId, userId }, ids) {
      if (ids.length === 0) return [];
      const values = [tenantId, userId, ids];
      return database.query<ArchiveItem>({ name: "archive-items-by-id", text: `${ITEMS} where id = any($3::uuid[])`, values });
    },
    list: ({ tenantId, userId }, { limit, offset }) =>
      database.query<ArchiveItem>({
        name: "archive-items",
        text: `${ITEMS} order by "createdAt" desc, id desc limit $3 offset $4`,
        values: [tenantId, userId, limit, offset],
      }),
  };
}
