import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Database, Deadlines } from "../../../../stores/postgres/database/database.ts";
import { migrate, migrateFrom, newestMigration } from "../../../../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { makeJobOverview } from "../../../../stores/jobs/job-overview.ts";
import { layerJob } from "../../../../stores/jobs/job.ts";
import { makeTurnStore } from "../../../../stores/postgres/turns/turn-store.ts";
import { createEmptyDatabase } from "../../../support/databases/databases.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { beginFreely, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { findPreviousVersion, lastOf, newestMigrationOf } from "../../../hard/chaos/version-tree.ts";

/** The lock that migrations take. */
const LOCK_KEY = "27988542917800563";
/** Transactions that wait for another. */
const WAITING = {
  text: `select xact_start::text as began from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
};
const FOLDER = new URL("../../../../stores/postgres/migrations/", import.meta.url);

const SCHEMA = "0001_schema.sql";
const migrationNames = async (): Promise<string[]> => (await readdir(FOLDER)).sort();

async function appliedNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>({ text: "select name from schema_migrations group by name order by min(version)" });
  return rows.map(({ name }) => name);
}

test("each migration has the number behind the one before, and file order is number order", async () => {
  const names = await migrationNames();
  const first = Number(lastOf(SCHEMA, await readFile(new URL(SCHEMA, FOLDER), "utf8")));
  const later = names.slice(1).map((name) => Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]));
  expect([names[0], ...later]).toEqual([SCHEMA, ...Array.from(later, (_, index) => first + index + 1)]);
});

const previous = await findPreviousVersion();
const namesPrevious = "each migration since the last release names the newest one of that release as the one to serve beside";
(previous ? test : test.skip)(previous ? namesPrevious : `${namesPrevious} (skipped: git knows no earlier release)`, async () => {
  const released = await newestMigrationOf(previous as string);
  for (const name of await migrationNames()) {
    if (name.slice(0, 4) <= released) continue;
    const [line] = (await readFile(new URL(name, FOLDER), "utf8")).split("\n");
    expect({ name, line }).toEqual({ name, line: `-- Compatible from ${released}.` });
  }
});

describe("migrate on an empty database", () => {
  const releasers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const release of releasers.splice(0).reverse()) await release();
  });

  async function openEmpty<Count extends 1 | 2 | 3 | 4>(count: Count, deadlines?: Deadlines) {
    const { url, drop } = await createEmptyDatabase();
    releasers.push(drop);
    const databases = await Promise.all(Array.from({ length: count }, () => openPostgres(url, deadlines)));
    for (const database of databases) releasers.push(() => database.close());
    return databases as [Database, Database, Database, Database];
  }

  async function openEmbedded(): Promise<Database[]> {
    const database = await openEmbeddedPostgres(IN_MEMORY);
    releasers.push(() => database.close());
    return [database, database];
  }

  test.each([
    ["four processes on real Postgres", () => openEmpty(4)],
    ["two calls on embedded PGlite", openEmbedded],
  ])("applies every migration exactly once when %s start together, and nothing later, which keeps the data", async (_what, open) => {
    const databases: Database[] = await open();
    expect((await Promise.all(databases.map(migrate))).flat().sort()).toEqual(await migrationNames());
    for (const database of databases) {
      const turns = makeTurnStore(database);
      const turn = await beginFreely(turns, sampleTurn());
      expect(await migrate(database)).toEqual([]);
      expect(await appliedNames(database)).toEqual(await migrationNames());
      expect(await turns.finish(turn, null, [layerJob("summarise", turn)])).toBe("stored");
      expect(await makeJobOverview(database).hasten(turn)).toBe(1);
    }
  });

  test("waits for another process that migrates for longer than other statements may take", async () => {
    const [database, other] = await openEmpty(2, { connectMs: 5_000, statementMs: 1_000 });
    const migrating = other.transaction(async (transaction) => {
      await transaction.query({ text: "select pg_advisory_xact_lock($1)", values: [LOCK_KEY] });
      await sleep(2_000);
    });
    expect(await migrate(database)).toEqual(await migrationNames());
    await migrating;
  });

  test("tries again while somebody holds on to a table, in a transaction of its own each time", async () => {
    const [database, other, third] = await openEmpty(3);
    const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = other.transaction(async (transaction) => {
      await transaction.query({ text: "create table conversations (what text)" });
      held.resolve();
      await over.promise;
      throw new Error("taken back");
    });
    await held.promise;
    const migrating = migrate(database);
    const tries = new Set<string>();
    await waitUntil("the third try", async () => {
      for (const { began } of await third.query<{ began: string }>(WAITING)) tries.add(began);
      return tries.size === 3;
    });
    over.resolve();
    await expect(holding).rejects.toThrow("taken back");
    expect(await migrating).toEqual(await migrationNames());
  });

  test("tries again when it and somebody else wait for each other, and is the one that gives way", async () => {
    const [database, other, third] = await openEmpty(3);
    const held = Promise.withResolvers<void>();
    const holding = other.transaction(async (transaction) => {
      await transaction.query({ text: "create table messages (what text)" });
      held.resolve();
      // It has made conversations by then.
      await waitUntil("the migration waits for messages", async () => (await third.query(WAITING)).length > 0);
      await transaction.query({ text: "create table conversations (what text)" });
      throw new Error("taken back");
    });
    await held.promise;
    const migrating = migrate(database);
    await expect(holding).rejects.toThrow("taken back");
    expect(await migrating).toEqual(await migrationNames());
  });

  test("lets the version before start beside a migration that names its newest one, and no version before that", async () => {
    const [database] = await openEmpty(1);
    const folder = await mkdtemp(path.join(os.tmpdir(), "migrations-"));
    releasers.push(() => rm(folder, { recursive: true, force: true }));
    await cp(FOLDER, folder, { recursive: true });
    const nextVersion = pathToFileURL(`${folder}/`);
    const newest = await newestMigration();
    const next = `-- Compatible from ${String(newest).padStart(4, "0")}.\ncreate table next (what text);`;
    await writeFile(new URL("9001_next.sql", nextVersion), next);
    expect(await migrateFrom(database, nextVersion)).toContain("9001_next.sql");
    expect(await migrate(database)).toEqual([]);
    expect(await database.query({ text: "select from next" })).toEqual([]);

    await writeFile(new URL("9002_the_one_after.sql", nextVersion), "-- Compatible from 9001.\ndrop table next;");
    expect(await migrateFrom(database, nextVersion)).toEqual(["9002_the_one_after.sql"]);
    await expect(migrate(database)).rejects.toMatchObject({
      name: "AppError",
      code: "invalid_configuration",
      message: expect.stringMatching(new RegExp(`9002_the_one_after\\.sql.*migration 9001.*knows ${newest} at most.*newer version`)),
    });
    await rm(new URL("9002_the_one_after.sql", nextVersion));
    expect(await migrateFrom(database, nextVersion)).toEqual([]);
  });

  test("refuses to start on a schema with a migration that it does not know, and that names no version to serve beside", async () => {
    const [database] = await openEmpty(1);
    await migrate(database);
    await database.query({ text: "insert into schema_migrations (version, name) values (999, '0999_far_newer.sql')" });
    const message = expect.stringMatching(/newer than this service: 0999_far_newer\.sql.*migration 999,.*newer version/);
    await expect(migrate(database)).rejects.toMatchObject({ name: "AppError", code: "invalid_configuration", message });
  });

  test("leaves nothing of a migration that fails half-way, and applies it whole the next time", async () => {
    const [database] = await openEmpty(1);
    await database.query({ text: "create table messages (what text)" }); // in the way of the second table of the first migration
    await expect(migrate(database)).rejects.toThrow('"messages" already exists');
    expect(await database.query({ text: "select tablename from pg_tables where schemaname = 'public'" })).toEqual([
      { tablename: "messages" },
    ]);
    await database.query({ text: "drop table messages" });
    expect(await migrate(database)).toEqual(await migrationNames());
  });
});
