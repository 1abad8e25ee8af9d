import type { Queryable } from "../../postgres/database/database.ts";
import { AppError } from "../../../errors/app-error.ts";
import { checkName, type IndexDefinition } from "../search-index.ts";

/** Rethrows a failure of the database as one of the index: a turn goes on without its memory. What is wrong with a statement passes unchanged. */
export function throwIndexError(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== "storage_unavailable") throw error;
  throw new AppError("index_unavailable", "The search index cannot be reached at the moment. Try again in a few seconds.", {
    cause: error,
  });
}

const ATTRIBUTE_TYPES = { text: "text", number: "double precision" } as const;

/** Columns of an index' table and their types, as Postgres writes them. */
export function indexColumns({ dimensions, attributes }: IndexDefinition): Record<string, string> {
  const own = Object.entries(attributes).map(([name, type]) => [name, ATTRIBUTE_TYPES[type]]);
  return {
    id: "uuid",
    owner_key: "text",
    group_id: "uuid",
    previous_id: "uuid",
    created_at: "timestamp(3) with time zone",
    lexical_text: "text",
    embedding: `vector(${dimensions})`,
    ...(Object.fromEntries(own) as Record<string, string>),
  };
}

/** Made of the lexical text by Postgres, for the exact ranking of searchWords. */
const DERIVED = {
  lexemes: "tsvector generated always as (to_tsvector('simple', lexical_text)) stored",
  word_count: "integer generated always as (coalesce(cardinality(string_to_array(lexical_text, ' ')), 0)) stored",
} as const;

/**
 * Keeps embedding and lexemes in their row as long as it fits a page, where Postgres moves them out from 2 kB on: a search reads one page
 * for each document of an owner, whose documents lie apart, instead of four.
 * https://www.postgresql.org/docs/current/sql-createtable.html#RELOPTION-TOAST-TUPLE-TARGET
 */
const WHOLE_ROWS = "toast_tuple_target = 8160";

/** No index on the embedding: one owner has thousands of documents, which are compared one by one in milliseconds and none is missed. */
function creation(definition: IndexDefinition): string {
  const { name } = definition;
  const columns = Object.entries(indexColumns(definition)).map(([column, type]) => {
    if (column === "id") return "id uuid primary key";
    if (column === "owner_key") return `owner_key text collate "C" not null`;
    return `"${column}" ${type}${column === "previous_id" ? "" : " not null"}`;
  });
  const derived = Object.entries(DERIVED).map(([column, made]) => `${column} ${made}`);
  return `
create table if not exists search."${name}" (${[...columns, ...derived].join(", ")}) with (${WHOLE_ROWS});
create index if not exists "${name}_by_owner" on search."${name}" (owner_key, created_at);
create index if not exists "${name}_by_group" on search."${name}" (group_id);
create index if not exists "${name}_by_words" on search."${name}" using bm25 (lexical_text) with (text_config = 'simple', k1 = 1.2, b = 0.75)`;
}

const FOUND_COLUMNS = `
select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
where attrelid = format('search.%I', $1::text)::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;

/** Creates the table of an index if it is not there. Throws AppError `invalid_configuration` when there is another one of that name. */
export async function createIndexTable(transaction: Queryable, definition: IndexDefinition): Promise<void> {
  await transaction.query({ text: creation(definition) });
  const found = await transaction.query<{ name: string; type: string }>({ text: FOUND_COLUMNS, values: [definition.name] });
  const wanted = indexColumns(definition);
  const types = new Map(found.map(({ name, type }) => [name, type]));
  const wrong = Object.entries(wanted).find(([name, type]) => types.get(name) !== type);
  if (!wrong && types.size === Object.keys(wanted).length) return;
  const [name, type] = wrong ?? ["", "nothing else"];
  throw new AppError(
    "invalid_configuration",
    `The search index "${definition.name}" does not fit this service: "${name}" is ${types.get(name) ?? "missing"}, not ${type}. Run \`npm run reindex\`.`,
  );
}

/** Deletes the table of an index, if there is one; the extensions and the schema need not be there. */
export async function dropIndexTable(database: Queryable, name: string): Promise<void> {
  await database.query({ text: `drop table if exists search."${checkName(name)}"` }).catch(throwIndexError);
}
