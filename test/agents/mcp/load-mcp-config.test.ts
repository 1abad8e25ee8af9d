import { afterAll, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { loadMcpConfig } from "../../../agents/mcp/load-mcp-config.ts";
import { HttpSpec, mayName, secretsOf } from "../../../agents/mcp/mcp-server.ts";
import { toolNameOf } from "../../../agents/mcp/to-agent-tool.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "mcp-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(content: unknown): string {
  const file = path.join(folder, `${crypto.randomUUID()}.json`);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}
const load = (mcpServers: object, environment = {}) => loadMcpConfig(write({ mcpServers }), environment);

test("loadMcpConfig reads the usual form, with variables of the environment in every text", async () => {
  const files = { command: "npx", args: ["-y", "server", "${FOLDER}/docs", "--token=${TOKEN}"], env: { KEY: "${KEY}" } };
  const docs = { type: "http", url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${KEY}" } };
  const servers = await load({ files, docs }, { FOLDER: "/srv", TOKEN: "open-sesame", KEY: "sesame-street", HOST: "example.org" });
  expect(servers).toEqual([
    {
      name: "files",
      tier: "system",
      spec: { command: "npx", args: ["-y", "server", "/srv/docs", "--token=open-sesame"], env: { KEY: "sesame-street" } },
      secretArguments: ["open-sesame"],
    },
    {
      name: "docs",
      tier: "system",
      spec: { type: "http", url: "https://example.org/mcp", headers: { Authorization: "Bearer sesame-street" } },
      secretArguments: [],
    },
  ]);
  expect(servers.map(secretsOf)).toEqual([
    ["sesame-street", "open-sesame"],
    ["Bearer sesame-street", "sesame-street", "Bearer"],
  ]);
});

test("a long part of an address counts as a secret", () => {
  const spec = HttpSpec.parse({ url: "https://example.org/api/k3y-0f-a-tenant-0123456789/mcp?user=ada-lovelace" });
  expect(secretsOf({ spec })).toEqual(["k3y-0f-a-tenant-0123456789", "ada-lovelace"]);
});

test.each([
  ["no such file", "/no/such/file", /MCP_CONFIG: "\/no\/such\/file" cannot be read/],
  ["no JSON", write('{"secret'), /is no JSON\.$/],
  ["another form", write({ servers: {} }), /mcpServers: /],
  ["neither command nor url", write({ mcpServers: { a: {} } }), /mcpServers\.a: must have a command or a url/],
  ["both", write({ mcpServers: { a: { command: "x", url: "https://x.org" } } }), /must have a command or a url/],
  ["an unknown field", write({ mcpServers: { a: { command: "x", password: "sesame" } } }), /mcpServers\.a: Unrecognized key/],
  ["a wrong address", write({ mcpServers: { a: { url: "sesame" } } }), /mcpServers\.a\.url: must be an address/],
  ["a wrong name", write({ mcpServers: { "a b": { command: "x" } } }), /mcpServers\.a b: the name must have/],
  [
    "a variable that is not set",
    write({ mcpServers: { a: { command: "${NOT_SET}" } } }),
    /mcpServers\.a\.command: the environment has no NOT_SET/,
  ],
])("loadMcpConfig refuses %s, names the field and quotes no value", async (_what, file, says) => {
  const refused = loadMcpConfig(file, {});
  await expect(refused).rejects.toMatchObject({ code: "invalid_configuration", message: expect.stringMatching(says) as unknown });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("sesame") as unknown });
});

test.each([
  ["*", true],
  ["mcp__*", true],
  ["m*", true],
  ["mcp__docs__*", true],
  ["mcp__docs__read", true],
  ["mcp__*__read", true],
  ["mcp__docs", false],
  ["mcp__docs2__*", false],
  ["mcp__d*s__read", true],
  ["mcp__d*s2__read", false],
  ["mcp__do__cs*", false],
  ["calculate", false],
  ["memory_*", false],
])("the pattern %s may name a tool of the server docs: %s", (pattern, may) => expect(mayName(pattern, "docs")).toBe(may));

test("a tool gets a name of its own that models can call", () => {
  expect(toolNameOf("docs", "read-file")).toBe("mcp__docs__read-file");
  const names = ["a.b", "a/b", "a b", "x".repeat(100), `${"x".repeat(99)}y`, "文档"].map((name) => toolNameOf("docs", name));
  expect(names.every((name) => /^mcp__docs__[\w-]+$/.test(name) && name.length <= 64)).toBe(true);
  expect(new Set(names).size).toBe(names.length);
});
