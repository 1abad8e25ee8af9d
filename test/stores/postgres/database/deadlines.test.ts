import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import type { AppError } from "../../../../errors/app-error.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { withStatementTimeout } from "../../../../stores/postgres/database/database-decorators.ts";
import { ReplyLost } from "../../../../stores/postgres/database/storage-errors.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { startTcpProxy } from "../../../servers/tcp-proxy.ts";

const unavailable = (): object => expect.objectContaining({ code: "storage_unavailable", retryable: true });

describe("a real Postgres with short deadlines", () => {
  const server = useTestPostgres();
  const database = useOpened(() => openPostgres(server.url, { connectMs: 1_000, statementMs: 1_000 }));

  test("gives a statement up by itself, before its client does, and keeps the connection", async () => {
    const [before] = await database.query<{ pid: number }>({ text: "select pg_backend_pid() as pid" });
    const failed = await database.query({ text: "select pg_sleep(20)" }).catch((error: unknown) => error);
    expect(failed).toEqual(unavailable());
    expect((failed as AppError).cause).toMatchObject({ code: "57014" });
    expect(await database.query({ text: "select pg_backend_pid() as pid" })).toEqual([before]);
  });

  test("rolls back a transaction of which it gave a statement up", async () => {
    await database.query({ text: "create table notes (id integer primary key)" });
    const work = database.transaction(async (transaction) => {
      await transaction.query({ text: "insert into notes values (1)" });
      await transaction.query({ text: "select pg_sleep(20)" });
    });
    await expect(work).rejects.toEqual(unavailable());
    expect(await database.query({ text: "select id from notes" })).toEqual([]);
  });

  test("gives patient work the time it asks for, on its connection alone and only for that", async () => {
    const patient = withStatementTimeout(database, 10_000);
    await patient.query({ text: "select pg_sleep(1.2)" });
    await patient.transaction((transaction) => transaction.query({ text: "select pg_sleep(1.2)" }));
    await patient.transaction(() => Promise.reject(new Error("changed my mind"))).catch(() => undefined);
    const impatient = Array.from({ length: 3 }, () => database.query({ text: "select pg_sleep(20)" }));
    for (const { status } of await Promise.allSettled(impatient)) expect(status).toBe("rejected");
    await patient.query({ text: "select pg_sleep(1.2)" });
  });

  test("does not count time in which the event loop of this process stood still", async () => {
    const asked = database.query({ text: "select pg_sleep(0.1)" });
    await sleep(20); // it is on its way
    const until = performance.now() + 2_500;
    while (performance.now() < until);
    expect(await asked).toHaveLength(1);
  });

  test("waits for a free connection as long as a deadline says, and sends nothing later", async () => {
    const busy = Array.from({ length: 10 }, () => withStatementTimeout(database, 10_000).query({ text: "select pg_sleep(2.5)" }));
    const failed = await database.query({ text: "insert into notes values (2)" }).catch((error: unknown) => error);
    expect(failed).toEqual(unavailable());
    expect(failed).not.toBeInstanceOf(ReplyLost);
    await Promise.all(busy);
    expect(await database.query({ text: "select id from notes" })).toEqual([]);
  });

  test("fails a statement in time when nothing answers, with an unknown outcome", async () => {
    const proxy = await startTcpProxy(server.url);
    const behind = await openPostgres(proxy.url, { connectMs: 500, statementMs: 500 });
    proxy.freeze();
    await expect(behind.query({ text: "select 1" })).rejects.toBeInstanceOf(ReplyLost);
    const failed = await behind.query({ text: "select 1" }).catch((error: unknown) => error); // this one has to connect first
    expect(failed).toEqual(unavailable());
    expect(failed).not.toBeInstanceOf(ReplyLost);
    await proxy.restore();
    expect(await behind.query({ text: "select 1 as one" })).toEqual([{ one: 1 }]);
    await behind.close();
    await proxy.close();
  });
});
