import { readdir } from "node:fs/promises";
import os from "node:os";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { parseLines } from "../../../stores/postgres/export/export-files.ts";
import { openTestService } from "../../../support/services/service.ts";
import { bearer, JWT_SECRET, secretToken } from "../../../servers/token-issuer.ts";
import { startTcpProxy } from "../../../servers/tcp-proxy.ts";
import { storeExchange, rememberConversation } from "../../../support/samples/user-with-memory.ts";

const KEYS = { acme: "key-of-acme-long-enough", other: "key-of-other-long-enough" };

describe("a user's export over HTTP", () => {
  const API_KEYS = `${KEYS.acme}:acme,${KEYS.other}:other`;
  const database = useTestPostgres();
  const service = useOpened(() => openTestService({ DATABASE_URL: database.url, API_KEYS, JWT_SECRET, JWT_TENANT_CLAIM: "tenant" }));
  beforeAll(async () => {
    await rememberConversation(database, { tenantId: "acme", userId: "艾达" }, "plums 李子 🍑");
    await rememberConversation(database, { tenantId: "acme", userId: "bob" }, "figs");
    await rememberConversation(database, { tenantId: "other", userId: "艾达" }, "limes");
  });

  const get = (user: string, headers: Record<string, string>) =>
    fetch(`${service.url}/api/v1/users/${encodeURIComponent(user)}/export`, { headers });

  test("is refused with 503 by a process that is older than the schema, until a newer process answers", async () => {
    const newer = "insert into schema_migrations (version, name) values (9999, '9999_newer.sql')";
    await database.query({ text: newer });
    const { status, json } = await callApi(`${service.url}/api/v1/users/bob/export`, { headers: bearer(KEYS.acme) });
    expect({ status, json }).toMatchObject({ status: 503, json: { error: { code: "storage_unavailable" } } });
    expect(json.error.message).toMatch(/schema 9999.*or a newer one/);
    await database.query({ text: "delete from schema_migrations where version = 9999" });
    expect((await get("bob", bearer(KEYS.acme))).status).toBe(200);
  });

  test("has one line for everything that is stored of this tenant's user, and is sent as a file", async () => {
    const response = await get("艾达", bearer(KEYS.acme));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe("attachment; filename=export.jsonl");
    const text = await response.text();
    expect(text).not.toMatch(/figs|limes/);
    const lines = parseLines(text);
    expect(lines[0]).toMatchObject({ kind: "header", tenant: "acme", user: "艾达" });
    const ofConversation = "conversations messages conversation_summaries conversation_summary_versions turns";
    const ofUser = "memory_cursors archived_memories core_memory_sections core_memory_versions core_memory_lines memory_operations";
    expect(new Set(lines.slice(1, -1).map(({ kind }) => kind))).toEqual(new Set(`${ofConversation} ${ofUser}`.split(" ")));
    expect(lines.at(-1)).toMatchObject({ kind: "end", rows: { conversations: 1, messages: 4, turns: 2, knowledge_bases: 0 } });
  });

  test("has only a first and a last line for a user of whom nothing is stored", async () => {
    const text = await (await get("nobody", bearer(KEYS.acme))).text();
    expect(parseLines(text).map(({ kind }) => kind)).toEqual(["header", "end"]);
  });

  test("is given to the user's own token, even one that may only read, and is 404 for another user's token", async () => {
    const token = secretToken({ sub: "bob", tenant: "acme", scope: "read" });
    const own = await get("bob", bearer(token));
    expect(own.status).toBe(200);
    expect(await own.text()).toContain("figs");
    const foreign = await callApi(`${service.url}/api/v1/users/${encodeURIComponent("艾达")}/export`, { headers: bearer(token) });
    expect({ status: foreign.status, code: foreign.json.error.code }).toEqual({ status: 404, code: "not_found" });
  });

  test("shows one moment of the store, and leaves nothing on the disk", async () => {
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) await storeExchange(database, { tenantId: "acme", userId: "busy" }, `session ${Math.random()}`, "leeks");
    })();
    for (let time = 0; time < 10; time++) {
      const lines = parseLines(await (await get("busy", bearer(KEYS.acme))).text());
      const rowsOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ row }) => row);
      expect(rowsOf("messages")).toHaveLength(rowsOf("conversations").reduce((sum, row) => sum + Number(row["message_count"]), 0));
    }
    isWriting = false;
    await writing;
    expect((await readdir(os.tmpdir())).filter((name) => name.startsWith("conversation-graph-user-export"))).toEqual([]);
  });

  test("is refused with 503 while Postgres is away, and is never cut in half", async () => {
    const proxy = await startTcpProxy(database.url);
    const cut = await openTestService({ DATABASE_URL: proxy.url });
    try {
      await proxy.refuse();
      const { status, json } = await callApi(`${cut.url}/api/v1/users/bob/export`);
      expect({ status, code: json.error.code }).toEqual({ status: 503, code: "storage_unavailable" });
    } finally {
      await cut.close();
      await proxy.close();
    }
  });
});
