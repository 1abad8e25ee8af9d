import { AppError } from "../../errors/app-error.ts";
import type { Queryable } from "../postgres/database.ts";
import { knowledgeKey } from "./knowledge-key.ts";
import { ownerKey } from "./owner-key.ts";
import type { SearchIndex } from "./search-index.ts";

/** Some of what Postgres has and the index $1 must have: each with its tenant, and its user or knowledge base. */
const INDEXED = {
  episodes: `
select last_episode_id as id, tenant_id as tenant, user_id as owner
from episode_cursors join messages on messages.id = last_episode_id join conversations on conversations.id = episode_cursors.conversation_id
where index_name = $1 limit 5`,
  chunks: `
select knowledge_chunks.id, tenant_id as tenant, prefix as owner
from knowledge_chunks join knowledge_documents on knowledge_documents.id = document_id
where index_names @> array[$1::text] limit 5`,
} as const;
const KEY_OF = { episodes: ownerKey, chunks: knowledgeKey } as const;

/** Whether an index has nothing, though Postgres knows of something that was written to it. */
async function isLost(records: Queryable, content: keyof typeof INDEXED, name: string, index: SearchIndex): Promise<boolean> {
  const indexed = await records.query<{ id: string; tenant: string; owner: string }>({
    name: `index-has-${content}`,
    text: INDEXED[content],
    values: [name],
  });
  for (const { id, tenant, owner } of indexed) {
    if ((await index.fetch(KEY_OF[content](tenant, owner), [id])).length > 0) return false;
  }
  return indexed.length > 0 && (await index.count()) === 0; // what is being erased at this moment may be gone there already
}

function refuse(): Promise<never> {
  const message = "The search index is empty, although Postgres knows what was written to it. Run `npm run reindex`, which makes it anew.";
  return Promise.reject(new AppError("index_unavailable", message));
}

/**
 * Opens an index, and notices one that was lost: Postgres, or a data folder, was brought to another place without it, and an empty one was
 * made. A search of it would find nothing and nobody would know why, so searches throw AppError `index_unavailable`. So do writes: with
 * the first of them it would look whole. What is to be erased is not there, and is erased. An index that comes back is noticed at its next use.
 */
export function noticeLostIndex(
  records: Queryable,
  content: keyof typeof INDEXED,
  open: (name: string) => Promise<SearchIndex>,
): (name: string) => Promise<SearchIndex> {
  const whole = new Set<string>();
  return async function openWhole(name) {
    const index = await open(name);
    if (whole.has(name)) return index;
    if (await isLost(records, content, name, index)) return { ...index, searchVectors: refuse, searchWords: refuse, upsert: refuse };
    whole.add(name);
    return index;
  };
}
