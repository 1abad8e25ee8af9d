import { randomBytes } from "node:crypto";
import { AppError } from "../../errors/app-error.ts";
import type { Embedder } from "../../models/embedder.ts";
import type { Database, Queryable } from "../postgres/database/database.ts";
import type { IndexDefinition, SearchIndex, SearchStore } from "./contract/search-index.ts";
import { knowledgeKey, ownerKey } from "../index-keys.ts";

export interface ServingIndex {
  /** Throws AppError `index_unavailable` when it was rebuilt for another embedder or store since the start. */
  name(): Promise<string>;
  /** Opened at its first use, and again after a failure: the service starts without its store. */
  open(name: string): Promise<SearchIndex>;
}

/** Indexes of episodes and of chunks: made with the same embedder, replaced together. */
export interface EpisodeIndex extends ServingIndex {
  chunks: ServingIndex;
}

interface EpisodeIndexParts {
  database: Database;
  store: SearchStore;
  embedder: Pick<Embedder, "name" | "dimensions">;
}

interface IndexRecord {
  name: string;
  store: string;
  embedder: string;
  dimensions: number;
}

const ATTRIBUTES = {
  episodes: { conversation_id: "text", answer_id: "text", episode_type: "text", importance: "number" },
  chunks: { position: "number" },
} as const satisfies Record<string, IndexDefinition["attributes"]>;
type IndexContent = keyof typeof ATTRIBUTES;
const TYPE = { episodes: { type: "episode_type" }, chunks: {} } as const satisfies Record<IndexContent, Pick<IndexDefinition, "type">>;

export function chunkIndexName(name: string): string {
  return name.replace(/^episodes_/, "chunks_");
}

/** Milliseconds for which a process may use a replaced index. */
export const NAME_CACHE_MS = 5_000;
export const OLD_NAME_UNUSED_MS = NAME_CACHE_MS + 1_000;

const FIND = "select name, store, embedder, dimensions from search_indexes where kind = 'episodes' and state = $1";

const ADD = `
insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at) values ($1, 'episodes', $2, $3, $4, $5, clock_timestamp())
on conflict (kind, state) do nothing`;

export const RETIRE_INDEX =
  "update search_indexes set state = 'leaving ' || name, left_at = clock_timestamp() where name = $1 and state = $2";

/** Drops what a job writes to it now. */
const LEAVE_UNUSED = `${RETIRE_INDEX}
  and not exists (select from episode_cursors where index_name = $1)
  and not exists (select from knowledge_chunks where index_names @> array[$1::text])
returning name`;

export async function findIndexRecord(database: Queryable, state: "current" | "building"): Promise<IndexRecord | null> {
  const [record] = await database.query<IndexRecord>({ name: "index-find", text: FIND, values: [state] });
  return record ?? null;
}

export async function listIndexNames(database: Queryable, store: SearchStore["kind"]): Promise<string[]> {
  const text = "select name from search_indexes where store = $1 order by name";
  return (await database.query<{ name: string }>({ text, values: [store] })).map(({ name }) => name);
}

/** Adds a record unless one has this state: the first process decides. */
export async function addIndexRecord({ database, store, embedder }: EpisodeIndexParts, state: "current" | "building"): Promise<void> {
  const name = `episodes_${randomBytes(6).toString("hex")}`;
  await database.query({ text: ADD, values: [name, state, store.kind, embedder.name, embedder.dimensions] });
}

export function matchesIndex(record: IndexRecord, { store, embedder }: Pick<EpisodeIndexParts, "store" | "embedder">): boolean {
  return record.store === store.kind && record.embedder === embedder.name && record.dimensions === embedder.dimensions;
}

function mismatch(record: IndexRecord, { store, embedder }: EpisodeIndexParts): AppError {
  return new AppError(
    "invalid_configuration",
    `Episodes are indexed with ${record.embedder} (${record.dimensions} dimensions) in ${record.store}, but the configuration asks for ` +
      `${embedder.name} (${embedder.dimensions}) in ${store.kind}. Run \`npm run reindex\` with the new configuration, or go back to the old one.`,
  );
}

/** Throws AppError `invalid_configuration` when the record is of another embedder or store. */
async function ensureRecord(parts: EpisodeIndexParts): Promise<void> {
  for (;;) {
    const record = await findIndexRecord(parts.database, "current");
    if (record && matchesIndex(record, parts)) return;
    if (record) {
      const unused = await parts.database.query({ text: LEAVE_UNUSED, values: [record.name, "current"] });
      if (unused.length === 0) throw mismatch(record, parts);
    }
    await addIndexRecord(parts, "current");
  }
}

/**
 * Opens each index once, and again after a failure. With `records`, opening and writing check the record at the end: Milvus recreates a
 * collection for a write that a rebuild has overtaken. Such a collection is dropped, AppError `index_unavailable` is thrown, and the job
 * repeats the write in the new index.
 */
export function makeIndexOpener(
  store: SearchStore,
  dimensions: number,
  content: IndexContent = "episodes",
  records?: Queryable,
): (name: string) => Promise<SearchIndex> {
  const opened = new Map<string, Promise<SearchIndex>>();

  async function openOne(name: string): Promise<SearchIndex> {
    const own = content === "chunks" ? chunkIndexName(name) : name;
    const index = await store.openIndex({ name: own, dimensions, attributes: ATTRIBUTES[content], ...TYPE[content] });
    async function dropIfUnknown(): Promise<void> {
      const rows = await records?.query({ name: "index-known", text: "select name from search_indexes where name = $1", values: [name] });
      if (rows?.length !== 0) return;
      await store.dropIndex(own);
      throw new AppError("index_unavailable", "The search index was replaced by another at this moment. Try again in a few seconds.");
    }
    await dropIfUnknown();
    return { ...index, upsert: (documents) => index.upsert(documents).then(dropIfUnknown) };
  }

  return function open(name) {
    const known = opened.get(name);
    if (known) return known;
    const opening = openOne(name).catch((error: unknown) => {
      opened.delete(name);
      throw error;
    });
    opened.set(name, opening);
    return opening;
  };
}

/**
 * The index of episodes for this store and embedder. Throws AppError `invalid_configuration` when turns were indexed with others: vectors
 * of two embedders cannot be compared.
 */
export async function openEpisodeIndex(parts: EpisodeIndexParts): Promise<EpisodeIndex> {
  await ensureRecord(parts);
  let last: { name: string; at: number } | undefined;
  async function name(): Promise<string> {
    if (last && performance.now() - last.at < NAME_CACHE_MS) return last.name;
    const record = await findIndexRecord(parts.database, "current");
    if (!record || !matchesIndex(record, parts)) {
      throw new AppError(
        "index_unavailable",
        "The index was rebuilt for another embedder. Restart the service with the new configuration.",
      );
    }
    last = { name: record.name, at: performance.now() };
    return record.name;
  }
  const { dimensions } = parts.embedder;
  const opener = (content: IndexContent): ServingIndex["open"] =>
    detectLostIndex(parts.database, content, makeIndexOpener(parts.store, dimensions, content, parts.database));
  return { name, open: opener("episodes"), chunks: { name, open: opener("chunks") } };
}

const INDEXED = {
  episodes: `
select tenant_id as tenant, user_id as owner
from episode_cursors join messages on messages.id = last_episode_id join conversations on conversations.id = episode_cursors.conversation_id
where index_name = $1 limit 5`,
  chunks: `
select tenant_id as tenant, prefix as owner
from knowledge_chunks join knowledge_documents on knowledge_documents.id = document_id
where index_names @> array[$1::text] limit 5`,
} as const;
const KEY_OF = { episodes: ownerKey, chunks: knowledgeKey } as const;

async function isLost(records: Queryable, content: IndexContent, name: string, index: SearchIndex): Promise<boolean> {
  const indexed = await records.query<{ tenant: string; owner: string }>({
    name: `index-has-${content}`,
    text: INDEXED[content],
    values: [name],
  });
  for (const { tenant, owner } of indexed) {
    if ((await index.count(KEY_OF[content](tenant, owner))) > 0) return false;
  }
  return indexed.length > 0 && (await index.count()) === 0;
}

function rejectLost(): Promise<never> {
  const message = "The search index is empty, although Postgres knows what was written to it. Run `npm run reindex`, which makes it anew.";
  return Promise.reject(new AppError("index_unavailable", message));
}

/**
 * Detects a lost index: the database was moved without it, and an empty one was created. Searches and writes then throw AppError
 * `index_unavailable`: a write would make it look whole. Erasing is allowed.
 */
function detectLostIndex(
  records: Queryable,
  content: IndexContent,
  open: (name: string) => Promise<SearchIndex>,
): (name: string) => Promise<SearchIndex> {
  const whole = new Set<string>();
  return async function openWhole(name) {
    const index = await open(name);
    if (whole.has(name)) return index;
    if (await isLost(records, content, name, index))
      return { ...index, searchVectors: rejectLost, searchWords: rejectLost, listByWords: rejectLost, upsert: rejectLost };
    whole.add(name);
    return index;
  };
}
