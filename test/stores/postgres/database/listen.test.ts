import { execFile } from "node:child_process";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { startTcpProxy, type TcpProxy } from "../../../servers/tcp-proxy.ts";
import { waitUntil } from "../../../support/wait-until.ts";

interface Heard {
  payloads: string[];
  /** How often the listener was told that notifications may have been missed. */
  connects: number;
  stop: () => Promise<void>;
}

async function hear(database: Database, channel: string): Promise<Heard> {
  const heard: Heard = { payloads: [], connects: 0, stop: async () => undefined };
  heard.stop = await database.listen(channel, {
    onNotification: (payload) => heard.payloads.push(payload),
    onConnect: () => (heard.connects += 1),
  });
  return heard;
}

const notify = (channel: string, payload: string) => ({ text: "select pg_notify($1, $2)", values: [channel, payload] });

async function untilHeard({ payloads }: Heard, count: number): Promise<string[]> {
  await waitUntil(`${count} notifications`, () => payloads.length >= count);
  return payloads;
}

describeStores("listen", ({ database }) => {
  const listeners: Heard[] = [];
  afterEach(async () => {
    for (const { stop } of listeners.splice(0)) await stop();
  });

  async function listenTo(channel: string): Promise<Heard> {
    const heard = await hear(database, channel);
    listeners.push(heard);
    return heard;
  }

  test("says once that it is connected, before it returns, and nothing more while it stays so", async () => {
    const heard = await listenTo("quiet");
    expect(heard).toMatchObject({ connects: 1, payloads: [] });
    await sleep(100);
    expect(heard).toMatchObject({ connects: 1, payloads: [] });
  });

  test("gives the payload of every notification on its channel, in order, and of no other channel", async () => {
    const heard = await listenTo("mine");
    await database.query(notify("other", "not for us"));
    for (const payload of ["first", "", "三 “x” 😀"]) await database.query(notify("mine", payload));
    expect(await untilHeard(heard, 3)).toEqual(["first", "", "三 “x” 😀"]);
  });

  test("serves several listeners, and one that stops takes nothing from the others", async () => {
    const [staying, leaving] = [await listenTo("shared"), await listenTo("shared")];
    await database.query(notify("shared", "for both"));
    await untilHeard(staying, 1);
    await untilHeard(leaving, 1);
    await leaving.stop();
    await database.query(notify("shared", "for one"));
    expect(await untilHeard(staying, 2)).toEqual(["for both", "for one"]);
    expect(leaving.payloads).toEqual(["for both"]);
  });
});

describe("listen on a real Postgres", () => {
  const administrator = useTestPostgres();
  let proxy: TcpProxy;
  let database: Database;
  beforeEach(async () => {
    proxy = await startTcpProxy(administrator.url);
    database = await openPostgres(proxy.url);
  });
  afterEach(async () => {
    await database.close();
    await proxy.close();
  });

  /** Connections of the service that listen. */
  async function countListening(): Promise<number> {
    const text = "select 1 from pg_stat_activity where datname = current_database() and query like 'listen %'";
    return (await administrator.query({ text })).length;
  }

  /** Notifies until the listener, which may not listen again yet, has heard it. */
  async function notifyUntilHeard(heard: Heard, payload: string): Promise<void> {
    await waitUntil(`"${payload}"`, async () => {
      await administrator.query(notify("channel", payload));
      return heard.payloads.includes(payload);
    });
  }

  test("tries again and again while the server is away, and listens when it is back", async () => {
    const heard = await hear(database, "channel");
    await proxy.refuse();
    await sleep(2_500); // longer than two pauses
    expect(heard.connects).toBe(1);
    await proxy.restore();
    await waitUntil("the second connection", () => heard.connects === 2);
    await notifyUntilHeard(heard, "after");
    expect(heard.connects).toBe(2);
    await heard.stop();
  });

  test.each([false, true])("leaves no connection behind when it stops, and does not come back; stopped while away: %p", async (isAway) => {
    const heard = await hear(database, "channel");
    await waitUntil("the connection", async () => (await countListening()) === 1);
    if (isAway) await proxy.refuse();
    else await heard.stop();
    await waitUntil("the end of the connection", async () => (await countListening()) === 0);
    if (isAway) {
      await heard.stop();
      await proxy.restore();
    }
    await administrator.query(notify("channel", "too late"));
    await sleep(1_500); // longer than the pause before it would connect again
    expect(await countListening()).toBe(0);
    expect(heard).toMatchObject({ connects: 1, payloads: [] });
  });

  test("stops at once while a server that has fallen silent keeps it waiting", async () => {
    const heard = await hear(database, "channel");
    await proxy.refuse();
    await proxy.restore();
    proxy.freeze();
    await sleep(1_500); // it is connecting again, and gets no answer
    expect(await Promise.race([heard.stop(), sleep(3_000, "when it gives up connecting", { ref: false })])).toBeUndefined();
    expect(heard.connects).toBe(1);
  });

  test("fails when the server cannot be reached at the beginning", async () => {
    await proxy.refuse();
    await expect(hear(database, "channel")).rejects.toThrow();
    await proxy.restore();
  });

  test("keeps no process alive once it was stopped, while it listens and while its server is away", async () => {
    const source = path.resolve(import.meta.dirname, "../../../../stores/postgres/database/open-postgres.ts");
    const script = `
      import { openPostgres } from ${JSON.stringify(source)};
      const listener = { onNotification: () => undefined, onConnect: () => undefined };
      const database = await openPostgres(${JSON.stringify(administrator.url)});
      await (await database.listen("channel", listener))();
      const stop = await database.listen("channel", listener);
      await database.query({ text: "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'" });
      await stop();
      await database.close();
      console.log("closed");`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 });
    expect(stdout).toBe("closed\n");
  });
});
