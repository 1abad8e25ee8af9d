import { afterAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { startOddMcpServer } from "../../servers/odd-mcp-server.ts";
import { callApi, putJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { makeMcpServerStore } from "../../../stores/postgres/agents/mcp-server-store.ts";
import { makeSeal } from "../../../server/parts/seal.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { openTestService, useTestService } from "../../support/services/service.ts";
import { freePort } from "../../servers/free-port.ts";
import { calls, useAgentService } from "../api/agents/agent-service.ts";

const SECRETS_KEY = "a key of more than thirty-two characters";
const OF_SYSTEM = "sesame-of-the-system";
const OF_TENANT = "sesame-of-the-tenant";
const anywhere = { mcp: { reach: { isAllowed: () => true } } };

const folder = mkdtempSync(path.join(os.tmpdir(), "mcp-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const MCP_CONFIG = path.join(folder, "mcp.json");
process.env["ODD_SECRET"] = OF_SYSTEM;
const script = fileURLToPath(new URL("../../servers/odd-mcp-server.ts", import.meta.url));
const odd = { command: process.execPath, args: [script], env: { SECRET: "${ODD_SECRET}" } };
writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers: { odd } }));

/** An address is refused at once, a name when it is looked up. */
const byName = (url: string): string => url.replace("127.0.0.1", "localhost");

interface Listed {
  name: string;
  tier: string;
  state: string;
  tools: number | null;
  problem: string | null;
  url: string | null;
  headers: string[];
}

const serversAt = (url: string, headers: Record<string, string> = {}) => ({
  list: async () => (await callApi<{ mcp_servers: Listed[] }>(`${url}/api/v1/mcp-servers`, { headers })).json.mcp_servers,
  find: (name: string) => callApi<Listed>(`${url}/api/v1/mcp-servers/${name}`, { headers }),
  put: (name: string, body: object) => putJson(`${url}/api/v1/mcp-servers/${name}`, body, headers),
  remove: (name: string) => callApi(`${url}/api/v1/mcp-servers/${name}`, { method: "DELETE", headers }),
});

describe("an agent with MCP servers", () => {
  const { opened, follow, makeAgent, chats, ask } = useAgentService({ MCP_CONFIG, SECRETS_KEY }, anywhere);

  test("calls tools of the system's server and of its tenant's server, and shows no secret of either", async () => {
    const docs = await startOddMcpServer({ token: OF_TENANT });
    const servers = serversAt(opened.url);
    try {
      const url = byName(docs.url);
      const body = { url: `${url}?key=${OF_TENANT}`, headers: { Authorization: `Bearer ${OF_TENANT}` } };
      expect((await servers.put("docs", body)).status).toBe(201);
      await makeAgent("reader", { tools: ["mcp__*"], permissions: [{ tool: "mcp__*", action: "allow" }] });
      const asked = [
        calls("mcp__odd__reveal", {}, "a"),
        calls("mcp__docs__reveal", {}, "b"),
        calls("mcp__docs__echo", { text: "住在里斯本" }, "c"),
      ];
      follow(asked, "Done.");
      const { of, done, steps } = await ask("reader", "reveal");
      expect(
        of("tool_result")
          .map(({ call_id, ok }) => [call_id, ok])
          .sort(),
      ).toEqual([
        ["a", true],
        ["b", true],
        ["c", true],
      ]);
      expect(of("tool_result").find(({ call_id }) => call_id === "c")?.output).toBe("住在里斯本");
      expect(done?.answer).toBe("Done.");
      expect(docs.requests.every(({ authorization }) => authorization === body.headers.Authorization)).toBe(true);
      const listed = await servers.list();
      expect(listed).toEqual([
        { name: "odd", tier: "system", state: "connected", tools: 9, problem: null, url: null, headers: [] },
        { name: "docs", tier: "tenant", state: "connected", tools: 9, problem: null, url: `${url}?…`, headers: ["Authorization"] },
      ]);
      const { json: status } = await opened.service.get("/api/v1/status");
      const seen = JSON.stringify([of("tool_result"), steps, listed, status, chats().map(({ body: sent }) => sent)]);
      expect(seen).toContain("[secret]");
      for (const secret of [OF_SYSTEM, OF_TENANT]) expect(seen).not.toContain(secret);
    } finally {
      await docs.close();
    }
  });

  test("answers without the tools of a server that is down, and both a notice and the status report this", async () => {
    const servers = serversAt(opened.url);
    expect((await servers.put("gone", { url: `http://localhost:${await freePort()}/mcp` })).status).toBe(201);
    await makeAgent("hopeful", { tools: ["mcp__gone__*", "calculate"] });
    follow("Without.");
    const { of, done } = await ask("hopeful", "try");
    const problem = "cannot be reached (ECONNREFUSED)";
    expect(of("notice")).toEqual([{ code: "mcp_unavailable", message: `The MCP server "gone" ${problem}. Its tools are missing.` }]);
    expect(done?.answer).toBe("Without.");
    const { json } = await opened.service.get("/api/v1/status");
    const shown = (json as unknown as { mcp_servers: Listed[] }).mcp_servers.find(({ name }) => name === "gone");
    expect(shown).toEqual({ name: "gone", tier: "tenant", state: "down", tools: null, problem });
    expect((await servers.remove("gone")).json).toEqual({ deleted: true });
    expect((await servers.remove("gone")).status).toBe(404);
  });

  test("asks a person before a tool runs, unless a rule allows it", async () => {
    await makeAgent("careful", { tools: ["mcp__odd__echo"] });
    follow([calls("mcp__odd__echo", { text: "x" })], "Not run.");
    const { events, steps } = await ask("careful", "echo");
    expect(JSON.stringify([events, steps])).not.toContain('"output":"x"');
  });

  test("connects to no server when it has no tool of one", async () => {
    const docs = await startOddMcpServer();
    try {
      await serversAt(opened.url).put("quiet", { url: byName(docs.url) });
      await makeAgent("counter", { tools: ["calculate"] });
      follow([calls("calculate", { expression: "1+1" })], "2");
      expect((await ask("counter", "1+1")).done?.answer).toBe("2");
      expect(docs.requests).toEqual([]);
    } finally {
      await serversAt(opened.url).remove("quiet");
      await docs.close();
    }
  });
});

describe("a tenant's MCP servers", () => {
  const API_KEYS = "key-of-acme:acme,key-that-reads:acme:read,key-of-other:other";
  const environment = { MCP_CONFIG, ODD_SECRET: OF_SYSTEM, SECRETS_KEY, JWT_SECRET, API_KEYS };
  const database = useTestPostgres();
  const service = useTestService(environment);
  const acme = () => serversAt(service.url, bearer("key-of-acme"));

  test.each([
    ["an address of this machine", "docs", { url: "http://127.0.0.1:8000/mcp" }, "url"],
    ["an address of a private network", "docs", { url: "https://10.1.2.3/mcp" }, "url"],
    ["an address of IPv6 that is this machine's", "docs", { url: "http://[::ffff:127.0.0.1]/mcp" }, "url"],
    ["another protocol", "docs", { url: "file:///etc/passwd" }, "url"],
    ["a password in the address", "docs", { url: "https://ada:secret@example.org/mcp" }, "url"],
    ["no address", "docs", {}, "url"],
    ["a program", "docs", { command: "sh" }, "command"],
    ["a header of the connection", "docs", { url: "https://example.org", headers: { Host: "x" } }, "headers.Host"],
    ["a header with a line break", "docs", { url: "https://example.org", headers: { "X-A": "a\nb: c" } }, "headers.X-A"],
    ["the name of a system's server", "odd", { url: "https://example.org" }, "name"],
    ["a name that tools cannot have", "a__b", { url: "https://example.org" }, "name"],
    ["a name that ends with an underscore", "bank_", { url: "https://example.org" }, "name"],
    ["a name that begins with an underscore", "_bank", { url: "https://example.org" }, "name"],
  ])("are refused with %s", async (_what, name, body, field) => {
    expectRefusal(await acme().put(name, body), { status: 400, code: "invalid_request", field });
  });

  test("are changed by keys of the tenant that may write, and are seen by no other tenant", async () => {
    const body = { url: `https://docs.example.org/s/${OF_TENANT}/mcp`, headers: { "X-Key": OF_TENANT } };
    expect((await acme().put("docs", body)).status).toBe(201);
    expect((await acme().put("docs", body)).status).toBe(200);
    for (const headers of [bearer("key-that-reads"), bearer(secretToken({ sub: "ada" }))])
      expectRefusal(await serversAt(service.url, headers).put("docs", body), { status: 403, code: "forbidden" });
    const other = serversAt(service.url, bearer("key-of-other"));
    expect((await other.list()).map(({ name }) => name)).toEqual(["odd"]);
    expect([(await other.find("docs")).status, (await other.remove("docs")).status]).toEqual([404, 404]);
    expect((await acme().find("docs")).json).toMatchObject({
      url: "https://docs.example.org/s/…/mcp",
      headers: ["X-Key"],
      state: "idle",
    });
  });

  test("with a name that is no longer allowed are not used, show the reason, and can be deleted", async () => {
    const sealed = makeSeal(SECRETS_KEY).seal(
      JSON.stringify({ url: "https://example.org" }),
      JSON.stringify(["mcp server", "default", "bank_"]),
    );
    await makeMcpServerStore(database).put("default", "bank_", sealed, { keepsGrants: false });
    const opened = await openTestService({ DATABASE_URL: database.url, SECRETS_KEY });
    const servers = serversAt(opened.url);
    const problem = expect.stringMatching(/^has a name that cannot be used: .*no underscore at its ends/) as unknown;
    expect(await servers.list()).toMatchObject([{ name: "bank_", state: "down", problem, url: "https://example.org/" }]);
    expect((await servers.find("bank_")).json).toMatchObject({ problem });
    expect([(await servers.remove("bank_")).status, await servers.list()]).toEqual([200, []]);
    await opened.close();
  });

  test("are stored encrypted, cannot be read with another SECRETS_KEY, and cannot be added without one", async () => {
    const open = (key?: string) => openTestService({ DATABASE_URL: database.url, ...(key === undefined ? {} : { SECRETS_KEY: key }) });
    const body = { url: `https://docs.example.org/mcp?key=${OF_TENANT}`, headers: { "X-Key": OF_TENANT } };
    const first = await open(SECRETS_KEY);
    expect((await serversAt(first.url).put("docs", body)).status).toBe(201);
    expect((await serversAt(first.url).list())[0]).toMatchObject({ state: "idle", headers: ["X-Key"] });
    await first.close();
    expect(await tablesHolding(database, OF_TENANT)).toEqual({});
    expect(await tablesHolding(database, "docs.example.org")).toEqual({});
    const second = await open("another key of more than thirty-two characters");
    expect(await serversAt(second.url).list()).toMatchObject([
      { state: "down", problem: expect.stringContaining("SECRETS_KEY") as unknown, headers: [] },
    ]);
    await second.close();
    const third = await open();
    expectRefusal(await serversAt(third.url).put("docs", body), { status: 403, code: "forbidden", says: /SECRETS_KEY/ });
    await third.close();
  });
});
