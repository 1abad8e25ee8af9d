import { randomBytes } from "node:crypto";
import { describe } from "@jest/globals";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { TEMPLATE_DATABASE, withDatabase } from "../../servers/database-url.ts";
import { useOpened } from "../use-opened.ts";

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with npm test, whose global set-up sets it`);
  return value;
}

/** The quickest for an empty template without fsync; a server that is not ours may not know it (Postgres 14). */
const STRATEGY = process.env["TEST_DATABASE_URL"] ? "" : " strategy file_copy";

/** A new, migrated database on the real Postgres, as a URL; `drop` removes it. */
export async function createRealDatabase(template = TEMPLATE_DATABASE): Promise<{ url: string; drop: () => Promise<void> }> {
  const serverUrl = required("TEST_SERVER_URL");
  const name = `test_${randomBytes(8).toString("hex")}`;
  const onServer = async (text: string): Promise<void> => {
    const server = await openPostgres(serverUrl);
    await server.query({ text }).finally(() => server.close());
  };
  await onServer(`create database ${name} template ${template}${STRATEGY}`);
  return { url: withDatabase(serverUrl, name), drop: () => onServer(`drop database if exists ${name} with (force)`) };
}

/** As `createRealDatabase`, without any migration. */
export const createEmptyDatabase = () => createRealDatabase("template0");

export async function openTestEmbedded(): Promise<Database> {
  required("TEST_SNAPSHOT"); // without it the folder would be empty
  const { folder, remove } = await createDataFolder();
  const database = await openEmbeddedPostgres(folder);
  return { ...database, close: () => database.close().then(remove) };
}

export const useTestEmbedded = () => useOpened(openTestEmbedded);

export async function openTestPostgres(): Promise<Database & { url: string }> {
  const { url, drop } = await createRealDatabase();
  const database = await openPostgres(url);
  return { ...database, url, close: () => database.close().then(drop) };
}

export const useTestPostgres = () => useOpened(openTestPostgres);

/** Runs the same suite on the embedded and on a real Postgres; `open` gives a new, migrated database, which the suite closes. */
export function describeOnBothDatabases(title: string, suite: (open: () => Promise<Database>) => void): void {
  describe.each([
    ["embedded PGlite", openTestEmbedded],
    ["real Postgres", openTestPostgres],
  ])(`${title} on %s`, (_name, open) => suite(open));
}
