import { beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../../errors/app-error.ts";
import type { Queryable } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { StalePlan } from "../../../../stores/postgres/database/storage-errors.ts";
import { openTestPostgres, useTestPostgres } from "../../../support/databases/databases.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { freePort } from "../../../servers/free-port.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const unavailable = (): object => expect.objectContaining({ name: "AppError", code: "storage_unavailable", retryable: true });

describeStores("a database", ({ database }) => {
  beforeAll(() => database.query({ text: "create table notes (id integer primary key, text text not null)" }));

  async function noteIds(): Promise<number[]> {
    const rows = await database.query<{ id: number }>({ text: "select id from notes order by id" });
    await database.query({ text: "delete from notes" });
    return rows.map(({ id }) => id);
  }

  const insert = (id: number) => ({ text: "insert into notes (id, text) values ($1, 'a note')", values: [id] });

  test.each([
    ["a syntax error", { text: "selec 1" }, "42601"],
    ["a division by zero", { text: "select 1 / $1::int", values: [0] }, "22012"],
    ["a missing table", { text: "select 1 from nowhere" }, "42P01"],
    ["a NUL in a text", { text: "select $1::text", values: ["a\0b"] }, "22021"],
  ])("stays usable after %s, and the error passes unchanged", async (_name, statement, code) => {
    const failed = await database.query(statement).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code });
    expect(failed).not.toBeInstanceOf(AppError);
    expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  });

  test("answers a prepared statement whose columns a migration has changed; a transaction with it may be tried again", async () => {
    const statement = { name: "all-of-plants", text: "select * from plants" };
    await database.query({ text: "create table plants (id integer); insert into plants values (1)" });
    expect(await database.query(statement)).toEqual([{ id: 1 }]);
    await database.query({ text: "alter table plants add column height integer" });
    expect(await database.query(statement)).toEqual([{ id: 1, height: null }]);
    expect(await database.query(statement)).toEqual([{ id: 1, height: null }]);
    await database.query({ text: "alter table plants drop column height" });
    const again = () => database.transaction((transaction) => transaction.query(statement));
    const failed = await again().catch((error: unknown) => error);
    if (!database.isEmbedded) expect([failed, failed]).toEqual([unavailable(), expect.any(StalePlan)]); // PGlite prepares anew
    expect(await again()).toEqual([{ id: 1 }]);
  });

  test("stays usable after many failed statements at once", async () => {
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => database.query({ text: "select 1 from nowhere" })));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  });

  test("gives the rows of every statement of a text, which may have several or none", async () => {
    const text =
      "select 1 as one; insert into notes values (7, 'a note') returning id; update notes set text = '' where false; select 2 as two";
    expect(await database.query({ text })).toEqual([{ one: 1 }, { id: 7 }, { two: 2 }]);
    expect(await noteIds()).toEqual([7]);
    const inTransaction = await database.transaction((transaction) => transaction.query({ text: "select 3 as three; select 4 as four" }));
    expect(inTransaction).toEqual([{ three: 3 }, { four: 4 }]);
    expect(await database.query({ text: "" })).toEqual([]);
  });

  test("fails at the commit when a statement of the transaction had failed and was passed over: nothing of it is stored", async () => {
    const work = database.transaction(async (transaction) => {
      await transaction.query(insert(1));
      await transaction.query({ text: "select 1 from nowhere" }).catch(() => undefined);
      return "done";
    });
    await expect(work).rejects.toMatchObject({ name: "RolledBack" });
    expect(await noteIds()).toEqual([]);
  });

  test("after a script that began a transaction and failed in it is clean: nothing of it stays, and the next statement is on its own", async () => {
    const script = "begin; insert into notes values (1, 'a note'); select 1 from nowhere; commit;";
    for (let round = 0; round < 12; round++) await expect(database.query({ text: script })).rejects.toMatchObject({ code: "42P01" });
    await Promise.all(Array.from({ length: 12 }, (_, id) => database.query(insert(id + 10))));
    const inTransaction = { text: "select now() = statement_timestamp() as alone" };
    expect(await database.query(inTransaction)).toEqual([{ alone: true }]);
    expect(await noteIds()).toEqual(Array.from({ length: 12 }, (_, id) => id + 10));
  });

  test("keeps what a transaction wrote and gives its result", async () => {
    const work = database.transaction(async (transaction) => {
      await transaction.query(insert(1));
      await transaction.query(insert(2));
      return "written";
    });
    expect(await work).toBe("written");
    expect(await noteIds()).toEqual([1, 2]);
  });

  const reason = new Error("changed my mind");
  test.each([
    ["its work throws, and throws the same error", () => Promise.reject(reason), reason],
    ["one of its statements fails", (transaction: Queryable) => transaction.query(insert(1)), expect.objectContaining({ code: "23505" })],
  ])("rolls a transaction back when %s", async (_name, fail, error) => {
    const work = database.transaction(async (transaction) => {
      await transaction.query(insert(1));
      await fail(transaction);
    });
    await expect(work).rejects.toEqual(error);
    expect(await noteIds()).toEqual([]);
  });

  test("runs transactions that are asked for at once one by one or side by side, each whole", async () => {
    const works = Array.from({ length: 20 }, (_, id) =>
      database.transaction(async (transaction) => {
        await transaction.query(insert(id));
        if (id % 2 === 1) throw new Error("odd");
      }),
    );
    const results = await Promise.allSettled(works);
    expect(results.map(({ status }) => status === "fulfilled")).toEqual(works.map((_, id) => id % 2 === 0));
    expect(await noteIds()).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  });
});

describe("a real Postgres whose connections are terminated", () => {
  const database = useTestPostgres();
  const administrator = useOpened(() => openPostgres(database.url));

  /** Ends every other connection to this database and waits until the server has none. */
  async function terminateOthers(): Promise<void> {
    const others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    await administrator.query({ text: `select pg_terminate_backend(pid, 5000) ${others}` });
  }

  test("fails the running statement with storage_unavailable, and the next one works", async () => {
    const running = database.query({ text: "select pg_sleep(30)" }).catch((error: unknown) => error);
    const sleeping = { text: "select 1 from pg_stat_activity where wait_event = 'PgSleep'" };
    await waitUntil("the statement runs", async () => (await administrator.query(sleeping)).length > 0);
    await terminateOthers();
    const failed = await running;
    expect(failed).toEqual(unavailable());
    expect((failed as AppError).message).not.toMatch(/terminat|administrator/);
    expect(await database.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
  });

  test("fails the transaction between two of its statements, keeps nothing of it, and the next one works", async () => {
    await database.query({ text: "create table notes (id integer primary key)" });
    const work = database.transaction(async (transaction) => {
      await transaction.query({ text: "insert into notes values (1)" });
      await terminateOthers();
      await transaction.query({ text: "insert into notes values (2)" });
    });
    await expect(work).rejects.toEqual(unavailable());
    await database.transaction((transaction) => transaction.query({ text: "insert into notes values (3)" }));
    expect(await database.query({ text: "select id from notes" })).toEqual([{ id: 3 }]);
  });

  test("drops idle connections unnoticed: the process lives and statements get new connections", async () => {
    await Promise.all(Array.from({ length: 5 }, () => database.query({ text: "select pg_sleep(0.05)" })));
    await terminateOthers();
    // A statement that meets a connection whose end has not arrived yet fails; each failure removes that connection.
    let failures = 0;
    for (;;) {
      const result = await database.query({ text: "select 1 as one" }).catch((error: unknown) => error);
      if (!(result instanceof AppError)) {
        expect(result).toEqual([{ one: 1 }]);
        break;
      }
      expect(result).toEqual(unavailable());
      expect(++failures).toBeLessThanOrEqual(5);
    }
  });
});

test("opening a real Postgres fails with storage_unavailable when nothing listens there", async () => {
  await expect(openPostgres(`postgres://ada:secret@127.0.0.1:${await freePort()}/nothing`)).rejects.toEqual(unavailable());
});

test("a real Postgres describes itself without user and password, and answers with storage_unavailable when it is closed", async () => {
  const database = await openTestPostgres();
  const { host, pathname } = new URL(database.url);
  expect(database.description).toBe(`Postgres at ${host}${pathname}`);
  await database.close();
  await expect(database.query({ text: "select 1" })).rejects.toMatchObject({ code: "storage_unavailable", retryable: false });
});
