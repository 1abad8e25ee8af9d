import { AppError } from "../../../errors/app-error.ts";
import type { Database } from "../../postgres/database/database.ts";
import { checkDefinition, type SearchStore } from "../search-index.ts";
import { MOST_COMPARED } from "./compare-vectors.ts";
import { createIndexTable, dropIndexTable, findIndexLevel, throwUnreachable } from "./index-table.ts";
import { makePostgresSearchIndex } from "./postgres-search-index.ts";
import type { VectorLevel } from "./vector-columns.ts";

/** "if not exists" alone races. An arbitrary number. */
const LOCK_CREATION = "select pg_advisory_xact_lock(7223910)";
const FIND_VECTOR = "select installed_version is not null as installed from pg_available_extensions where name = 'vector'";

/** Returns why this Postgres refuses it, or null. */
async function create(database: Database, text: string): Promise<unknown> {
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
 * Indexes in any Postgres: words in plain tables, vectors with pgvector where the server has it; else this process compares those of an
 * owner, up to 20,000. Throws AppError `invalid_configuration` when the user may not create the schema. Closing the store leaves the
 * database open.
 */
export async function openPostgresSearchStore(database: Database): Promise<SearchStore> {
  const cause = await create(database, "create schema if not exists search");
  if (cause !== null) {
    const problem = `${database.description} cannot keep the search index: this user may not create the schema "search" in it.`;
    const ways = "Grant CREATE on the database, or set MILVUS_ADDRESS to a Milvus server, or set ENABLE_EPISODIC_MEMORY=false.";
    throw new AppError("invalid_configuration", `${problem} ${ways}`, { cause });
  }
  const best = await bestLevel(database);
  return {
    kind: "postgres",
    level: best,
    description: `${database.description} ${DESCRIBED[best]}`,
    levelOf: async (name) => (await findIndexLevel(database, name).catch(throwUnreachable)) ?? best,
    async openIndex(definition) {
      checkDefinition(definition);
      const level = await database
        .transaction(async (transaction) => {
          await transaction.query({ text: LOCK_CREATION });
          return createIndexTable(transaction, definition, best);
        })
        .catch(throwUnreachable);
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
