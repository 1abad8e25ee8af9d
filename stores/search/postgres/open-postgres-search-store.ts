import { AppError } from "../../../errors/app-error.ts";
import type { Database } from "../../postgres/database/database.ts";
import { checkDefinition, type SearchStore } from "../search-index.ts";
import { createIndexTable, dropIndexTable, throwUnreachable } from "./index-table.ts";
import { makePostgresSearchIndex } from "./postgres-search-index.ts";

/** "if not exists" alone races. An arbitrary number. */
const LOCK_CREATION = "select pg_advisory_xact_lock(7223910)";
const CREATE_EXTENSIONS = `
create extension if not exists vector;
create extension if not exists pg_textsearch;
create schema if not exists search`;

function missingExtensions(description: string, cause: unknown): AppError {
  return new AppError(
    "invalid_configuration",
    `${description} cannot keep the search index: it lacks the extensions "vector" and "pg_textsearch", or this user may not create them. ` +
      "Set MILVUS_ADDRESS to a Milvus server, or install the two extensions and create them in this database, or set ENABLE_EPISODIC_MEMORY=false.",
    { cause },
  );
}

/**
 * Indexes in a Postgres with the extensions vector and pg_textsearch. Throws AppError `invalid_configuration` when it lacks them. Closing
 * the store leaves the database open.
 */
export async function openPostgresSearchStore(database: Database): Promise<SearchStore> {
  try {
    await database.transaction(async (transaction) => {
      await transaction.query({ text: LOCK_CREATION });
      await transaction.query({ text: CREATE_EXTENSIONS });
    });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw missingExtensions(database.description, error);
  }
  return {
    kind: "postgres",
    description: `${database.description} with pgvector and pg_textsearch`,
    async openIndex(definition) {
      checkDefinition(definition);
      await database
        .transaction(async (transaction) => {
          await transaction.query({ text: LOCK_CREATION });
          await createIndexTable(transaction, definition);
        })
        .catch(throwUnreachable);
      return makePostgresSearchIndex(database, definition);
    },
    async listIndexes() {
      const text = "select tablename::text as name from pg_tables where schemaname = 'search' order by tablename";
      return (await database.query<{ name: string }>({ text }).catch(throwUnreachable)).map(({ name }) => name);
    },
    dropIndex: (name) => dropIndexTable(database, name),
    async check() {
      await database.query({ text: "select 1" }).catch(throwUnreachable);
    },
    close: async () => undefined,
  };
}
