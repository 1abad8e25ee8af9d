import type { Database, Queryable } from "../../postgres/database/database.ts";
import { AppError } from "../../../errors/app-error.ts";
import { checkDefinition, checkName, type IndexDefinition, indexUnreachable, type SearchLevel } from "../contract/search-index.ts";
import { VECTOR_COLUMNS, type VectorLevel } from "./vector-columns.ts";
import { WORD_FUNCTIONS, wordTable, wordTableCreation, wordTableDrop } from "./word-table.ts";

/** An unreachable database becomes `index_unavailable`: the turn goes on without memory. */
export function throwUnreachable(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== "storage_unavailable") throw error;
  throw indexUnreachable(error);
}

const ATTRIBUTE_TYPES = { text: "text", number: "double precision" } as const;

export function indexColumns({ dimensions, attributes }: IndexDefinition, level: SearchLevel): Record<string, string> {
  const own = Object.entries(attributes).map(([name, type]) => [name, ATTRIBUTE_TYPES[type]]);
  return {
    id: "uuid",
    owner_key: "text",
    group_id: "uuid",
    previous_id: "uuid",
    created_at: "timestamp(3) with time zone",
    lexical_text: "text",
    ...(level === "milvus" ? {} : { embedding: VECTOR_COLUMNS[level].type(dimensions) }),
    ...(Object.fromEntries(own) as Record<string, string>),
  };
}

/** The letters of a document's words, without digits and the Chinese words that `dayWords` writes. A character is in three words. */
const LETTERS = "regexp_replace(lexical_text, '[0-9年月日星期周一二三四五六 ]', '', 'g')";
/** Three bytes each. */
const HAN_LETTERS = `(octet_length(${LETTERS}) - length(${LETTERS})) / 2`;
/** The most letters that `dayWords` writes in English. */
const DAY_LETTERS = 16;

const DERIVED = {
  lexemes: "tsvector generated always as (to_tsvector('simple', lexical_text)) stored",
  word_count: "integer generated always as (coalesce(cardinality(string_to_array(lexical_text, ' ')), 0)) stored",
  /** Chinese with some English names in it is Chinese. */
  script: `text generated always as (case when ${HAN_LETTERS} > 0 and ${HAN_LETTERS} * 3 >= length(${LETTERS}) - ${DAY_LETTERS} then 'han' else 'other' end) stored`,
} as const;

/**
 * Keeps rows whole up to a page; Postgres moves columns out from 2 kB.
 * https://www.postgresql.org/docs/current/sql-createtable.html#RELOPTION-TOAST-TUPLE-TARGET
 */
const WHOLE_ROWS = "toast_tuple_target = 8160";

/** No index on the embedding: the thousands of documents of one owner are compared in milliseconds. */
function tableCreation(definition: IndexDefinition, level: SearchLevel): string {
  const { name } = definition;
  const columns = Object.entries(indexColumns(definition, level)).map(([column, type]) => {
    if (column === "id") return "id uuid primary key";
    if (column === "owner_key") return `owner_key text collate "C" not null`;
    return `"${column}" ${type}${column === "previous_id" ? "" : " not null"}`;
  });
  const derived = Object.entries(DERIVED).map(([column, made]) => `${column} ${made}`);
  return `
create table if not exists search."${name}" (${[...columns, ...derived].join(", ")}) with (${WHOLE_ROWS});
create index if not exists "${name}_by_owner" on search."${name}" (owner_key, created_at);
create index if not exists "${name}_by_group" on search."${name}" (group_id)`;
}

/** The first opening of an old index without word table or scripts reads all its documents. */
const CREATION_TIMEOUT_MS = 600_000;

const FOUND_COLUMNS = `
select attname as name, concat_ws(' ', format_type(atttypid, atttypmod), pg_get_constraintdef(pg_constraint.oid)) as type from pg_attribute
left join pg_constraint on conrelid = attrelid and contype = 'c' and conkey = array[attnum]
where attrelid = to_regclass(format('search.%I', $1::text)) and attnum > 0 and not attisdropped and attgenerated = ''`;

interface Found {
  name: string;
  type: string;
}

async function findColumns(queryable: Queryable, name: string): Promise<Found[]> {
  return queryable.query<Found>({ text: FOUND_COLUMNS, values: [name] });
}

/** Null when there is no such index in Postgres, or only its words. */
export async function findIndexLevel(queryable: Queryable, name: string): Promise<VectorLevel | null> {
  const embedding = (await findColumns(queryable, checkName(name))).find((column) => column.name === "embedding");
  if (!embedding) return null;
  return embedding.type.startsWith("bytea") ? "plain" : "pgvector";
}

/** "if not exists" alone races. An arbitrary number. */
const LOCK_CREATION = "select pg_advisory_xact_lock(7223910)";

/** Runs a creation that other processes may run at the same moment. Returns why this Postgres refuses it, or null. */
export async function create(database: Database, text: string): Promise<unknown> {
  try {
    await database.transaction(async (transaction) => {
      await transaction.query({ text: LOCK_CREATION });
      await transaction.query({ text });
    });
    return null;
  } catch (error) {
    if (error instanceof AppError) throw error;
    return error;
  }
}

/** Throws AppError `invalid_configuration` when the user may not create it. */
export async function createSearchSchema(database: Database): Promise<void> {
  const cause = await create(database, "create schema if not exists search");
  if (cause === null) return;
  const problem = `${database.description} cannot keep the search index: this user may not create the schema "search" in it.`;
  throw new AppError("invalid_configuration", `${problem} Grant CREATE on the database, or set ENABLE_EPISODIC_MEMORY=false.`, { cause });
}

export async function hasIndexTable(database: Queryable, name: string): Promise<boolean> {
  const values = [`search."${checkName(name)}"`];
  const [row] = await database.query<{ exists: boolean }>({ text: EXISTS, values }).catch(throwUnreachable);
  return row?.exists ?? false;
}

const HAS_SCRIPT =
  "select exists (select from pg_attribute where attrelid = to_regclass(format('search.%I', $1::text)) and attname = 'script') as exists";
const EXISTS = "select to_regclass($1) is not null as exists";

/**
 * Creates the missing parts of an index and returns its level: that of its vectors in Postgres, else the given one. Throws AppError
 * `invalid_configuration` when the columns differ.
 */
export async function openIndexTable<Level extends SearchLevel>(
  database: Database,
  definition: IndexDefinition,
  best: Level,
): Promise<Level | VectorLevel> {
  const { name } = checkDefinition(definition);
  const creating = database.transaction(async (transaction) => {
    await transaction.query({ text: LOCK_CREATION });
    const level: Level | VectorLevel = (await findIndexLevel(transaction, name)) ?? best;
    await transaction.query({ text: tableCreation(definition, level) });
    const [script] = await transaction.query<{ exists: boolean }>({ text: HAS_SCRIPT, values: [name] });
    if (!script?.exists) {
      await transaction.query({ text: `alter table search."${name}" add column script ${DERIVED.script}`, timeoutMs: CREATION_TIMEOUT_MS });
    }
    checkColumns(definition, await findColumns(transaction, name), indexColumns(definition, level));
    const [words] = await transaction.query<{ exists: boolean }>({ text: EXISTS, values: [wordTable(name)] });
    if (!words?.exists) {
      await transaction.query({ text: `${WORD_FUNCTIONS}; ${wordTableCreation(name)}`, timeoutMs: CREATION_TIMEOUT_MS });
    }
    return level;
  });
  return creating.catch(throwUnreachable);
}

function checkColumns(definition: IndexDefinition, found: readonly Found[], wanted: Readonly<Record<string, string>>): void {
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
  const text = `drop table if exists search."${checkName(name)}"; ${wordTableDrop(name)}`;
  await database.query({ text }).catch(throwUnreachable);
}
