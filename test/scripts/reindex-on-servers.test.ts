import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { whyNoMilvus } from "../servers/milvus-server.ts";
import { describeUnless } from "../support/describe-unless.ts";
import { openPostgresAndMilvus } from "../support/databases/postgres-and-milvus.ts";
import { runScript } from "../support/run-script.ts";
import { storeConversation } from "../support/databases/stored-conversation.ts";
import { useOpened } from "../support/use-opened.ts";
import { waitUntil } from "../support/wait-until.ts";

const SLOW_MS = 11_000;
const WAITING = "select 1 from pg_locks where relation = 'messages'::regclass and not granted";

describeUnless(await whyNoMilvus(), "npm run reindex on a real Postgres and Milvus Lite", () => {
  const servers = useOpened(openPostgresAndMilvus, 120_000);

  test("gives a statement more time than a turn does", async () => {
    const { database, environment } = servers;
    await storeConversation(database, { count: 4 });
    const run = await database.transaction(async (transaction) => {
      await transaction.query({ text: "lock table messages in access exclusive mode" });
      const started = runScript("reindex", [], environment);
      await waitUntil("it waits for the messages", async () => (await database.query({ text: WAITING })).length > 0);
      await sleep(SLOW_MS);
      return { started };
    });
    expect(await run.started).toMatchObject({ code: 0, stdout: expect.stringContaining("2 episodes indexed") as unknown });
  });

  test("-- --drop-old drops old indexes where it can, and names them where it cannot", async () => {
    const { database, environment, store } = servers;
    const name = "episodes_left";
    const add = `insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at, left_at)
      values ($1, 'episodes', 'leaving ' || $1::text, 'milvus', 'e', 8, now(), now() - interval '1 hour')`;
    await database.query({ text: add, values: [name] });
    await store.openIndex({ name, dimensions: 8, attributes: {} });
    const withoutMilvus = await runScript("reindex", ["--drop-old"], { DATABASE_URL: database.url });
    expect(withoutMilvus).toMatchObject({ code: 1, stdout: "" });
    expect(withoutMilvus.stderr).toMatch(/episodes_left_part0 to episodes_left_part15 and chunks_left_part0 .* in Milvus.*MILVUS_ADDRESS/);
    expect(await store.listIndexes()).toContain(name);

    expect(await runScript("reindex", ["--drop-old"], environment)).toMatchObject({ code: 0, stderr: "" });
    expect(await store.listIndexes()).not.toContain(name);
    expect(await database.query({ text: "select name from search_indexes where state <> 'current'" })).toEqual([]);
  });
});
