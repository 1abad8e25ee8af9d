import type { Queryable } from "../../postgres/database/database.ts";
import { AppError } from "../../../errors/app-error.ts";
import { checkName, type IndexDefinition, indexUnreachable } from "../search-index.ts";

/** An unreachable database becomes `index_unavailable`: the turn goes on without memory. */
export function throwUnreachable(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== "storage_unavailable") throw error;
  throw indexUnreachable(error);
}

const ATTRIBUTE_TYPES = { text: "text", number: "double precision" } as const;

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

const DERIVED = {
  lexemes: "tsvector generated always as (to_tsvector('simple', lexical_text)) stored",
  word_count: "integer generated always as (coalesce(cardinality(string_to_array(lexical_text, ' ')), 0)) stored",
} as const;

/**
 * Keeps rows whole up to a page; Postgres moves columns out from 2 kB.
 * https://www.postgresql.org/docs/current/sql-createtable.html#RELOPTION-TOAST-TUPLE-TARGET
 */
const WHOLE_ROWS = "toast_tuple_target = 8160";

/** No index on the embedding: the thousands of documents of one owner are compared in milliseconds. */
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

/** Throws AppError `invalid_configuration` when the columns differ. */
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

export async function dropIndexTable(database: Queryable, name: string): Promise<void> {
  await database.query({ text: `drop table if exists search."${checkName(name)}"` }).catch(throwUnreachable);
}
