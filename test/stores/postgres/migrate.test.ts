import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Database } from "../../../stores/postgres/database.ts";
import { migrate } from "../../../stores/postgres/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../stores/postgres/open-embedded-postgres.ts";
import { openPostgres } from "../../../stores/postgres/open-postgres.ts";
import { makeTurnStore } from "../../../stores/postgres/turn-store.ts";
import { describeOnBothDatabases } from "../../support/databases.ts";
import { createEmptyDatabase } from "../../support/empty-database.ts";
import { beginFreely, sampleTurn } from "../../support/sample-turns.ts";

/** The lock that migrations take, and how long all other statements have. */
const LOCK_KEY = "27988542917800563";
const OTHERS_TIMEOUT_MS = 10_000;
const FOLDER = new URL("../../../stores/postgres/migrations/", import.meta.url);

async function migrationNames(): Promise<string[]> {
  return (await readdir(FOLDER)).sort();
}

async function appliedNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>({ text: "select name from schema_migrations order by version" });
  return rows.map(({ name }) => name);
}

async function tableNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>({
    text: "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
  });
  return rows.map(({ name }) => name);
}

test("each migration has a number of its own, and file order is number order", async () => {
  const names = await migrationNames();
  const versions = names.map((name) => Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]));
  expect(versions).toEqual(Array.from(versions, (_, index) => index + 1));
});

describe("migrate on an empty database", () => {
  const releasers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const release of releasers.splice(0).reverse()) await release();
  });

  async function openEmpty(count: number): Promise<Database[]> {
    const { url, drop } = await createEmptyDatabase();
    releasers.push(drop);
    const databases = await Promise.all(Array.from({ length: count }, () => openPostgres(url)));
    for (const database of databases) releasers.push(() => database.close());
    return databases;
  }

  async function openEmptyOne(): Promise<Database> {
    const [database] = await openEmpty(1);
    if (!database) throw new Error("nothing was opened");
    return database;
  }

  test("applies every migration exactly once when four start together on real Postgres", async () => {
    const databases = await openEmpty(4);
    const applied = await Promise.all(databases.map((database) => migrate(database)));
    expect(applied.flat().sort()).toEqual(await migrationNames());
    for (const database of databases) {
      expect(await appliedNames(database)).toEqual(await migrationNames());
      await beginFreely(makeTurnStore(database), sampleTurn());
    }
  });

  test("applies every migration exactly once when two start together on embedded PGlite", async () => {
    const database = await openEmbeddedPostgres(IN_MEMORY);
    releasers.push(() => database.close());
    const applied = await Promise.all([migrate(database), migrate(database)]);
    expect(applied.flat().sort()).toEqual(await migrationNames());
    expect(await appliedNames(database)).toEqual(await migrationNames());
    await beginFreely(makeTurnStore(database), sampleTurn());
  });

  test("has longer than other statements: waits for another process that migrates for more than ten seconds", async () => {
    const [database, other] = (await openEmpty(2)) as [Database, Database];
    const migrating = other.transaction(async (transaction) => {
      await transaction.query({ text: "select pg_advisory_xact_lock($1)", values: [LOCK_KEY] });
      await sleep(OTHERS_TIMEOUT_MS + 1_000);
    });
    expect(await migrate(database)).toEqual(await migrationNames());
    await migrating;
  }, 60_000);

  test("gives up a table that somebody holds on to, says so, and does it the next time", async () => {
    const [database, other] = (await openEmpty(2)) as [Database, Database];
    const over = Promise.withResolvers<void>();
    const holding = other.transaction(async (transaction) => {
      await transaction.query({ text: "create table conversations (what text)" });
      await over.promise;
      throw new Error("taken back");
    });
    await expect(migrate(database)).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringMatching(/0001_conversations\.sql waited 5 s/) as unknown,
    });
    over.resolve();
    await expect(holding).rejects.toThrow("taken back");
    expect(await migrate(database)).toEqual(await migrationNames());
  }, 60_000);

  test("leaves alone what a newer version has applied, and its tables", async () => {
    const database = await openEmptyOne();
    await migrate(database);
    await database.query({ text: "create table of_the_next_version (what text)" });
    await database.query({ text: "insert into schema_migrations (version, name) values (9999, '9999_of_the_next_version.sql')" });
    expect(await migrate(database)).toEqual([]);
    expect(await appliedNames(database)).toContain("9999_of_the_next_version.sql");
    expect(await tableNames(database)).toContain("of_the_next_version");
  });

  test("leaves nothing of a migration that fails half-way, and applies it whole the next time", async () => {
    const database = await openEmptyOne();
    await database.query({ text: "create table messages (what text)" }); // in the way of the second table of the first migration
    await expect(migrate(database)).rejects.toThrow('"messages" already exists');
    expect(await tableNames(database)).toEqual(["messages"]);
    await database.query({ text: "drop table messages" });
    expect(await migrate(database)).toEqual(await migrationNames());
  });
});

describeOnBothDatabases("migrate on a migrated database", (open) => {
  test("applies nothing and keeps the data", async () => {
    const database = await open();
    try {
      const turns = makeTurnStore(database);
      const turn = await beginFreely(turns, sampleTurn());
      expect(await migrate(database)).toEqual([]);
      expect(await appliedNames(database)).toEqual(await migrationNames());
      expect(await turns.finish(turn, null)).toBe("stored");
    } finally {
      await database.close();
    }
  });
});
