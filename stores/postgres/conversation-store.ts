import type { Owner } from "../owner.ts";
import type { Job } from "../jobs/job.ts";
import { makeJobQueue, type JobQueue } from "../jobs/job-queue.ts";
import { toPage, type Page, type PageRequest } from "../page.ts";
import type { Database } from "./database.ts";

export interface StoredConversation {
  id: string;
  userId: string;
  sessionId: string;
  messageCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface Erased {
  messages: number;
  summaries: number;
  jobs: number;
}

export interface ConversationStore {
  /** The conversation with this id in this tenant, whoever's it is; null when there is none. */
  find(tenantId: string, conversationId: string): Promise<StoredConversation | null>;
  /** A user's conversations, the newest created first: a stable order to page through while turns go on. */
  list(owner: Owner, page: PageRequest): Promise<Page<StoredConversation>>;
  /**
   * Deletes the conversation with everything in Postgres that belongs to it; null when there is none, else how much went. `then` is to be
   * done after that, and stands or falls with it.
   */
  erase(
    conversation: Owner & { conversationId: string },
    then?: { jobs: readonly Job[]; startAfterSeconds: number },
  ): Promise<Erased | null>;
}

interface ConversationRow {
  id: string;
  user_id: string;
  session_id: string;
  message_count: number;
  created_at: Date;
  updated_at: Date;
}

function toConversation(row: ConversationRow): StoredConversation {
  return {
    id: row.id,
    userId: row.user_id,
    sessionId: row.session_id,
    messageCount: row.message_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

const COLUMNS = "id, user_id, session_id, message_count, created_at, updated_at";

const LIST = `
select ${COLUMNS} from conversations
where tenant_id = $1 and user_id = $2
  and (created_at, id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by created_at desc, id desc limit $5`;

/** One snapshot for the whole statement: a message written meanwhile goes with the conversation's row, by the foreign key. */
const ERASE = `
with erased as (
  delete from conversations where id = $1 and tenant_id = $2 and user_id = $3 returning id
), messages as (
  delete from messages where conversation_id in (select id from erased) returning 1
), summaries as (
  delete from conversation_summaries where conversation_id in (select id from erased) returning 1
)
select (select count(*) from messages)::int as messages, (select count(*) from summaries)::int as summaries from erased`;

export function makeConversationStore(database: Database, queue: JobQueue = makeJobQueue(database)): ConversationStore {
  return {
    async find(tenantId, conversationId) {
      const [row] = await database.query<ConversationRow>({
        name: "conversation-find",
        text: `select ${COLUMNS} from conversations where id = $1 and tenant_id = $2`,
        values: [conversationId, tenantId],
      });
      return row ? toConversation(row) : null;
    },

    async list({ tenantId, userId }, { limit, after }) {
      const rows = await database.query<ConversationRow>({
        name: "conversation-list",
        text: LIST,
        values: [tenantId, userId, after?.createdAt ?? null, after?.id ?? null, limit + 1],
      });
      return toPage(rows.map(toConversation), limit);
    },

    async erase({ conversationId, tenantId, userId }, then) {
      return queue.transaction(async (transaction, jobs) => {
        // The conversation first: whoever ends a job of it locks its row before that job's.
        const [row] = await transaction.query<{ messages: number; summaries: number }>({
          name: "conversation-erase",
          text: ERASE,
          values: [conversationId, tenantId, userId],
        });
        if (!row) return null;
        const erasedJobs = await jobs.erase(conversationId);
        if (then) await jobs.add(then.jobs, then.startAfterSeconds);
        return { ...row, jobs: erasedJobs };
      });
    },
  };
}
