import { createServer, type AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { makePooledDatabase } from "../../../../stores/postgres/database/pooled-database.ts";
import pg from "pg";
import { createRealDatabase, openTestPostgres } from "../../../support/databases/databases.ts";

const UNAVAILABLE = { name: "AppError", code: "storage_unavailable", retryable: true };

/** Answers every connection as Postgres refuses one: https://www.postgresql.org/docs/current/protocol-message-formats.html */
async function startRefusing(sqlState: string) {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0Mrefused\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  const server = createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(Buffer.concat([head, fields])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/x`, close: () => void server.close() };
}

const openLazily = (url: string) =>
  makePooledDatabase({
    pool: new pg.Pool({ connectionString: url }),
    deadlines: { connectMs: 5_000, statementMs: 5_000 },
    description: "a refusing one",
    isEmbedded: false,
    listen: () => Promise.reject(new Error("not listened to")),
    afterClose: async () => undefined,
  });

describe("a server that refuses connections", () => {
  const releasers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const release of releasers.splice(0).reverse()) await release();
  });

  test.each([
    ["is starting", "57P03"],
    ["has no connection left", "53300"],
    ["takes none for this database", "55000"],
    ["has renamed the database", "3D000"],
    ["has another password", "28P01"],
    ["does not know the address", "28000"],
    ["has a broken file", "58P01"],
  ])("because it %s is unavailable, and may be asked again", async (_why, sqlState) => {
    const server = await startRefusing(sqlState);
    const database = openLazily(server.url);
    releasers.push(server.close, () => database.close());
    await expect(database.query({ text: "select 1" })).rejects.toMatchObject({ ...UNAVAILABLE, cause: { code: sqlState } });
    await expect(database.transaction((transaction) => transaction.query({ text: "select 1" }))).rejects.toMatchObject(UNAVAILABLE);
  });

  test("for one database, as `allow_connections false` does, is unavailable until that is taken back", async () => {
    const [{ url, drop }, other] = await Promise.all([createRealDatabase(), openTestPostgres()]);
    const database = await openPostgres(url);
    releasers.push(
      drop,
      () => other.close(),
      () => database.close(),
    );
    const name = new URL(url).pathname.slice(1);
    await other.query({ text: `alter database ${name} allow_connections false` });
    await other.query({ text: "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", values: [name] });
    for (let round = 0; round < 3; round++) await expect(database.query({ text: "select 1" })).rejects.toMatchObject(UNAVAILABLE);
    await other.query({ text: `alter database ${name} allow_connections true` });
    expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  });

  test("says that there is no room when the disk is full, and an error of a statement passes unchanged", async () => {
    const database = await openTestPostgres();
    releasers.push(() => database.close());
    const raise = (code: string) => database.query({ text: `do $$ begin raise exception 'x' using errcode = '${code}'; end $$` });
    for (const code of ["53100", "58030"]) await expect(raise(code)).rejects.toMatchObject(UNAVAILABLE);
    await expect(raise("53100")).rejects.toThrow(/no room.*disk/);
    await expect(raise("55000")).rejects.not.toMatchObject({ name: "AppError" });
  });
});
