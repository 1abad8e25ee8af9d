import type { Database } from "../../postgres/database/database.ts";
import type { SearchStore } from "../contract/search-index.ts";
import { MOST_COMPARED } from "./compare-vectors.ts";
import { create, createSearchSchema, dropIndexTable, findIndexLevel, openIndexTable, throwUnreachable } from "./index-table.ts";
import { makePostgresSearchIndex } from "./postgres-search-index.ts";
import type { VectorLevel } from "./vector-columns.ts";

const FIND_VECTOR = "select installed_version is not null as installed from pg_available_extensions where name = 'vector'";

/** Creates pgvector where the server has it and the user may. */
async function bestLevel(database: Database): Promise<VectorLevel> {
  const [vector] = await database.query<{ installed: boolean }>({ text: FIND_VECTOR }).catch(throwUnreachable);
  if (!vector) return "plain";
  return vector.installed || (await create(database, "create extension if not exists vector")) === null ? "pgvector" : "plain";
}

const DESCRIBED: Readonly<Record<VectorLevel, string>> = {
  pgvector: "with pgvector",
  plain: `without pgvector: vectors are compared one by one, ${MOST_COMPARED.toLocaleString("en")} of a user or a knowledge base at most`,
};

/**
 * Indexes in any Postgres: words in plain tables, vectors with pgvector where the server has it; else this process compares up to 20,000 of
 * an owner. Throws AppError `invalid_configuration` when the user may not create the schema. Closing the store leaves the database open.
 */
export async function openPostgresSearchStore(database: Database): Promise<SearchStore> {
  await createSearchSchema(database);
  const best = await bestLevel(database);
  return {
    kind: "postgres",
    level: best,
    description: `${database.description} ${DESCRIBED[best]}`,
    levelOf: async (name) => (await findIndexLevel(database, name).catch(throwUnreachable)) ?? best,
    async openIndex(definition) {
      const level = await openIndexTable(database, definition, best);
      return makePostgresSearchIndex(database, definition, level);
    },
    async listIndexes() {
      const text = `select tablename::text as name from pg_tables where schemaname = 'search' and tablename not like '%\\_words' order by tablename`;
      return (await database.query<{ name: string }>({ text }).catch(throwUnreachable)).map(({ name }) => name);
    },
    dropIndex: (name) => dropIndexTable(database, name),
    async check() {
      await database.query({ text: "select 1" }).catch(throwUnreachable);
    },
    close: async () => undefined,
  };
}
