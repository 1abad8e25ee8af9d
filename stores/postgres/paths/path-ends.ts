import type { Owner } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";
import { messagesOfPathSql, PATH_MESSAGES } from "./branch-path.ts";

/** A message for comparison with a client's. */
export interface PathMessage {
  id: string;
  role: "user" | "assistant";
  text: string;
  completed: boolean;
  /** Hashes of kept pictures, or addresses. */
  pictures: string[];
}

/** The beginning and the end of a path, oldest first. */
export interface PathEnds {
  messages: PathMessage[];
  /** The message before which others were left out, or null. */
  gapBefore: number | null;
  /** A client of this conversation has sent earlier messages. */
  sendsHistory: boolean;
  /** Branches of the path. */
  depth: number;
}

export interface PathEndsRequest extends Owner {
  sessionId: string;
  /** How many earlier messages a client has sent. A few more are read from each end. */
  shown: number;
  /** Reads only the last few when the path has as many messages as the client. */
  isQuick: boolean;
}

/** Messages that only one side may have. */
const MORE = 16;
/** Two exchanges. */
const QUICK = 4;

const readSql = (order: "asc" | "desc", limit: string): string => `(
  select coalesce(json_agg(read order by "createdAt", id), '[]') from (${messagesOfPathSql({
    columns: `id, role, content as text, completed, messages.created_at as "createdAt", case when picture_count = 0 then '[]'::json else (
      select json_agg(coalesce(url, hash) order by position) from message_pictures left join pictures on pictures.id = picture_id
      where message_id = messages.id) end as pictures`,
    conversationId: "conversations.id",
    path: "conversations.path",
    order,
    limit,
  })}) read)`;

/** $4: the number of the client's messages. The first number above 0 is recorded. */
const READ = `
with told as (
  update conversations set sends_history = true
  where tenant_id = $1 and user_id = $2 and session_id = $3 and $4::int > 0 and not sends_history
)
select ${readSql("asc", "reads.of_beginning")} as beginning, ${readSql("desc", "reads.of_end")} as ending, counted.count, sends_history as "sendsHistory",
  (select count(*)::int from jsonb_object_keys(coalesce(path, '{}'))) as depth
from conversations cross join lateral (select ${PATH_MESSAGES} as count) counted cross join lateral (
  select case when $5::boolean and counted.count = $4 then 0 else $4 + ${MORE} end as of_beginning,
    case when $5::boolean and counted.count = $4 then ${QUICK} else $4 + ${MORE} end as of_end
) reads
where tenant_id = $1 and user_id = $2 and session_id = $3`;

interface EndsRow {
  beginning: PathMessage[];
  ending: PathMessage[];
  count: number;
  sendsHistory: boolean;
  depth: number;
}

export async function readPathEnds(database: Database, request: PathEndsRequest): Promise<PathEnds | null> {
  const { tenantId, userId, sessionId, shown, isQuick } = request;
  const values = [tenantId, userId, sessionId, shown, isQuick];
  const [row] = await database.query<EndsRow>({ name: "path-ends", text: READ, values });
  if (!row) return null;
  const { beginning, ending, count, sendsHistory, depth } = row;
  const known = new Set(beginning.map(({ id }) => id));
  const messages = [...beginning, ...ending.filter(({ id }) => !known.has(id))];
  return { messages, gapBefore: messages.length < count ? beginning.length : null, sendsHistory, depth };
}
