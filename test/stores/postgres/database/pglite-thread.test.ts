import { setImmediate as nextLoop } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import pg from "pg";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import { startPGliteThread } from "../../../../stores/postgres/database/pglite-thread.ts";

test("the event loop runs on while a statement runs", async () => {
  const database: Database = await openEmbeddedPostgres(IN_MEMORY);
  try {
    let isAnswered = false;
    const counted = database
      .query<{ count: number }>({ text: "select count(*)::int as count from generate_series(1, 1000000)" })
      .finally(() => (isAnswered = true));
    let loops = 0;
    while (!isAnswered) {
      await nextLoop();
      loops++;
    }
    expect(await counted).toEqual([{ count: 1_000_000 }]);
    expect(loops).toBeGreaterThan(100);
  } finally {
    await database.close();
  }
});

test("a new connection has neither the transaction nor the prepared statements of the one before, and hears what that one listened to", async () => {
  const thread = await startPGliteThread({ dataDir: IN_MEMORY });
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ stream: () => thread.connect(), user: "postgres", database: "postgres", password: "", ssl: false });
    await client.connect();
    return client;
  };
  const before = await connect();
  const one = { name: "one", text: "select $1::int as value", values: [1] };
  await before.query("listen news");
  await before.query(one);
  await before.query("begin");
  await before.query("create table lost (id int)");
  await before.end();

  const after = await connect();
  const heard: unknown[] = [];
  after.on("notification", ({ channel, payload }) => heard.push([channel, payload]));
  expect((await after.query(one)).rows).toEqual([{ value: 1 }]);
  expect((await after.query("select to_regclass('lost') as lost")).rows).toEqual([{ lost: null }]);
  await after.query("notify news, 'again'");
  expect(heard).toEqual([["news", "again"]]);
  await after.end();
  await thread.close();

  await expect(connect()).rejects.toThrow("The thread of the embedded database has ended.");
});
