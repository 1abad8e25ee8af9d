import { NIL } from "uuid";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { Database, Queryable } from "../postgres/database/database.ts";
import { partNames } from "./milvus/parted-index.ts";
import { chunkIndexName, RETIRE_INDEX, NAME_CACHE_MS } from "./open-episode-index.ts";
import { dropIndexTable } from "./postgres/index-table.ts";
import type { SearchStore } from "./contract/search-index.ts";

export interface RetiredIndex {
  name: string;
  places: string;
  isInUse: boolean;
  /** `invalid_configuration` without its store. */
  why: AppError;
}

export interface DropParts {
  database: Database;
  /** The store besides the database. */
  store: SearchStore | null;
  /** No other process uses the database. Default false. */
  isAlone?: boolean;
  signal?: AbortSignal;
}

interface Row {
  name: string;
  store: string;
  isInUse: boolean;
}

const LIST = `
select name, store, left_at > clock_timestamp() - make_interval(secs => $1::float8) as "isInUse" from search_indexes
where state = 'leaving ' || name order by left_at, name`;
const FORGET = "delete from search_indexes where name = $1 and state = 'leaving ' || name";

/** Rows of one statement, whose locks erases wait for. */
const BATCH = 1_000;
/** $1 the name, $2 the last id of the batch before. */
const FORGET_PROGRESS = [
  `delete from episode_cursors where index_name = $1::text and conversation_id in (
  select conversation_id from episode_cursors where index_name = $1::text and conversation_id > $2 order by conversation_id limit ${BATCH})
returning conversation_id as id`,
  ...["knowledge_chunks", "archived_memories"].map(
    (table) => `update ${table} set index_names = array_remove(index_names, $1::text) where id in (
  select id from ${table} where index_names @> array[$1::text] and id > $2 order by id limit ${BATCH})
returning id`,
  ),
];

/** The record stays until the index is dropped, so that neither a crash nor an absent store hides it. */
export async function retireIndex(queryable: Queryable, name: string, state: "current" | "building"): Promise<void> {
  await queryable.query({ text: RETIRE_INDEX, values: [name, state] });
}

function describePlaces({ name, store }: Row): string {
  const names = [name, chunkIndexName(name)];
  if (store === "postgres") return `tables ${names.map((table) => `search.${table}`).join(" and ")} in Postgres`;
  const parts = names.map(partNames).map((collections) => `${collections[0]} to ${collections.at(-1)}`);
  return `collections ${parts.join(" and ")} in Milvus, those of them that were ever written`;
}

async function forgetProgress({ database, signal }: DropParts, name: string): Promise<void> {
  for (const text of FORGET_PROGRESS) {
    let after: string = NIL;
    for (let count = BATCH; count === BATCH;) {
      signal?.throwIfAborted();
      const rows = await database.query<{ id: string }>({ text, values: [name, after] });
      count = rows.length;
      after = rows.reduce((last, { id }) => (id > last ? id : last), after);
    }
  }
}

async function dropIndexAndChunks({ database, store }: DropParts, row: Row): Promise<void> {
  for (const name of [row.name, chunkIndexName(row.name)]) {
    await dropIndexTable(database, name);
    if (row.store === "postgres") continue;
    if (row.store === store?.kind) await store.dropIndex(name);
    else throw new AppError("invalid_configuration", "MILVUS_ADDRESS is not set, so it cannot be dropped.");
  }
}

/** Returns why it is still there, or null. */
async function dropIndex(parts: DropParts, row: Row): Promise<AppError | null> {
  if (row.isInUse) return new AppError("index_unavailable", "It is in use for some seconds more.");
  try {
    await forgetProgress(parts, row.name);
    await dropIndexAndChunks(parts, row);
    await parts.database.query({ text: FORGET, values: [row.name] });
    // An earlier write may have recreated it; a later one drops it itself (makeIndexOpener).
    await dropIndexAndChunks(parts, row);
    return null;
  } catch (error) {
    parts.signal?.throwIfAborted();
    return toAppError(error);
  }
}

/** Drops retired indexes that no process uses, and returns the rest. Touches nothing without a record: the store may be shared. */
export async function dropRetiredIndexes(parts: DropParts): Promise<RetiredIndex[]> {
  const remaining: RetiredIndex[] = [];
  for (const row of await parts.database.query<Row>({ text: LIST, values: [parts.isAlone ? 0 : NAME_CACHE_MS / 1_000] })) {
    parts.signal?.throwIfAborted();
    const why = await dropIndex(parts, row);
    if (why) remaining.push({ name: row.name, places: describePlaces(row), isInUse: row.isInUse, why });
  }
  return remaining;
}
