import { afterEach, describe, expect, test } from "@jest/globals";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { TurnResult } from "../../../turn/events.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { makeKnowledgeClient } from "../../support/clients/knowledge-client.ts";
import { useTestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

const WRITE = bearer("key-that-writes");
const READING = ["core_memory_get", "knowledge_search", "list_conversations", "recall"];
const ALL = [...READING, "core_memory_update", "remember"].toSorted();

describe("an MCP server for one user's memory, with the official client,", () => {
  const service = useTestService({
    API_KEYS: "key-that-writes:acme,key-that-reads:acme:read,key-of-other:other",
    JWT_SECRET,
    JWT_TENANT_CLAIM: "tenant",
    ENABLE_CORE_MEMORY: "true",
    ENABLE_EPISODIC_MEMORY: "true",
    MEMORY_READ_TIMEOUT_MS: "30000",
    SUMMARY_MIN_MESSAGES: "2",
    SUMMARY_UPDATE_DELTA: "1",
    HISTORY_WINDOW: "0",
  });

  const open: Client[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((client) => client.close()));
  });

  async function connect(headers: Record<string, string>): Promise<Client> {
    const client = new Client({ name: "a test", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } });
    await client.connect(transport);
    open.push(client);
    return client;
  }
  const connectAs = (userId: string, headers = WRITE) => connect({ ...headers, "x-user-id": userId });
  const aUser = (): string => `user-${crypto.randomUUID()}`;

  async function call(client: Client, name: string, given: Record<string, unknown> = {}) {
    const { content, isError = false } = await client.callTool({ name, arguments: given });
    const [part] = content as { type: string; text: string }[];
    return { text: part?.text ?? "", isError };
  }
  const readText = async (client: Client, uri: string): Promise<string> =>
    String((await client.readResource({ uri })).contents.map((content) => ("text" in content ? content.text : "")).join());
  const toolNames = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name).toSorted();

  test("offers six tools with their schemas and descriptions", async () => {
    const client = await connectAs(aUser());
    expect(client.getServerVersion()).toMatchObject({ name: "conversation-graph" });
    expect(client.getInstructions()).toMatch(/memory of one user/);
    expect(await toolNames(client)).toEqual(ALL);
    const { tools } = await client.listTools();
    for (const { inputSchema, description } of tools) {
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(description).toMatch(/\w+/);
    }
    expect(
      tools
        .filter(({ annotations }) => annotations?.readOnlyHint)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(READING);
  });

  test.each([
    ["I am allergic to peanuts.", "what am I allergic to, peanuts?", "peanuts"],
    ["我对花生过敏。", "花生过敏", "花生"],
  ])("recalls what it was asked to remember: %s", async (content, query, word) => {
    const user = aUser();
    const client = await connectAs(user);
    expect(await call(client, "remember", { content })).toEqual({ text: expect.stringMatching(/^Remembered/) as unknown, isError: false });
    expect((await call(client, "remember", { content })).text).toBe("That is remembered already.");
    await waitUntil("it is recalled", async () => (await call(client, "recall", { query })).text.includes(word));
    const [conversation] = await listConversations(service.url, user, WRITE);
    expect(conversation).toMatchObject({ session_id: "mcp", message_count: 1 });
    expect((await callApi(`${service.url}/api/v1/users/${user}`, { method: "DELETE", headers: WRITE })).status).toBe(200);
    expect((await call(client, "recall", { query })).text).toBe("Nothing was found.");
  });

  test("shares the user's memory with the turns of the API, and lists its conversations and summaries", async () => {
    const user = aUser();
    const body = { user_id: user, session_id: "s", message: "My sailing boat is called Halcyon." };
    const { json } = await postJson<TurnResult>(`${service.url}/api/v1/chat`, body, WRITE);
    await callApi(`${service.url}/api/v1/conversations/${json.conversation_id}/settle?timeout_ms=30000`, {
      method: "POST",
      headers: WRITE,
    });
    const client = await connectAs(user);
    expect((await call(client, "recall", { query: "the name of my sailing boat" })).text).toContain("Halcyon");
    const listed = JSON.parse((await call(client, "list_conversations")).text) as { conversations: { id: string }[] };
    expect(listed.conversations.map(({ id }) => id)).toEqual([json.conversation_id]);
    const { resources } = await client.listResources();
    const summary = `memory://conversations/${json.conversation_id}/summary`;
    expect(resources.map(({ uri }) => uri)).toEqual(["memory://core-memory", summary]);
    expect(await readText(client, summary)).toContain("Halcyon");
    const stranger = await connectAs(aUser());
    await expect(readText(stranger, summary)).rejects.toThrow(/There is no summary/);
    await expect(readText(stranger, "memory://conversations/none/summary")).rejects.toThrow(/There is no summary/);
    expect((await stranger.listResources()).resources.map(({ uri }) => uri)).toEqual(["memory://core-memory"]);
  });

  test("reads core memory, and writes it only over the version that the client names", async () => {
    const user = aUser();
    const client = await connectAs(user);
    expect((await call(client, "core_memory_get")).text).toBe("Nothing is known about this user yet.");
    const given = { section: "goals", content: "Learns Finnish.", expected_version: 0 };
    expect(await call(client, "core_memory_update", given)).toEqual({
      text: 'The section "goals" is written, as version 1.',
      isError: false,
    });
    expect(await call(client, "core_memory_update", given)).toEqual({
      text: expect.stringMatching(/^stale_version: /) as unknown,
      isError: true,
    });
    expect(await readText(client, "memory://core-memory")).toBe("## goals (version 1)\n\nLearns Finnish.");
    const { json } = await callApi<{ sections: object[] }>(`${service.url}/api/v1/users/${user}/core-memory`, { headers: WRITE });
    expect(json.sections).toEqual([expect.objectContaining({ section: "goals", updated_by: "agent" })]);
  });

  test("searches the documents of its tenant", async () => {
    const knowledge = makeKnowledgeClient(service.url, WRITE);
    await knowledge.put("ferries", { description: "Timetables of ferries." });
    await postJson(
      `${service.url}/api/v1/knowledge/ferries/documents`,
      { title: "Ferries", text: "The ferry to Suomenlinna leaves at noon." },
      WRITE,
    );
    const client = await connectAs(aUser());
    const found = async () => (await call(client, "knowledge_search", { query: "When does the ferry leave?", kb: "ferries" })).text;
    await waitUntil("the document is indexed", async () => (await found()).includes("Suomenlinna"));
    const other = await connectAs(aUser(), bearer("key-of-other"));
    expect(await call(other, "knowledge_search", { query: "ferry", kb: "ferries" })).toMatchObject({ isError: true });
    expect((await call(other, "knowledge_search", { query: "ferry" })).text).toBe("Nothing was found.");
  });

  test("offers only the reading tools to a key that may only read, and the others change nothing", async () => {
    const user = aUser();
    const client = await connectAs(user, bearer("key-that-reads"));
    expect(await toolNames(client)).toEqual(READING);
    for (const [name, given] of [
      ["remember", { content: "x" }],
      ["core_memory_update", { section: "goals", content: "x" }],
    ] as const)
      expect(await call(client, name, given).catch((error: unknown) => ({ isError: true, text: String(error) }))).toMatchObject({
        isError: true,
      });
    expect(await listConversations(service.url, user, WRITE)).toEqual([]);
  });

  test("serves the token's user and no other, and needs a user's name with a key", async () => {
    const ada = bearer(secretToken({ sub: "ada", tenant: "acme" }));
    expect((await call(await connect(ada), "core_memory_update", { section: "goals", content: "Flies." })).isError).toBe(false);
    expect((await call(await connectAs("ada"), "core_memory_get")).text).toContain("Flies.");
    expect((await call(await connectAs("ada", bearer("key-of-other")), "core_memory_get")).text).toMatch(/Nothing is known/);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const send = (headers: Record<string, string>) => postJson(`${service.url}/mcp`, ping, headers);
    expectRefusal(await send({ ...ada, "x-user-id": "eve" }), { status: 403, code: "forbidden", says: /X-User-Id/ });
    expectRefusal(await send(WRITE), { status: 400, code: "invalid_request", field: "user" });
    expectRefusal(await send({}), { status: 401, code: "unauthorized" });
    expect((await send({ ...WRITE, "x-openwebui-user-id": "ada" })).json).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test.each([
    [{ hello: 1 }, "jsonrpc"],
    [[{ jsonrpc: "2.0", id: 1, method: "ping" }], "body"],
    [{ jsonrpc: "2.0", id: 1, params: {} }, "body"],
    [{ jsonrpc: "2.0", method: 7 }, "method"],
  ])("refuses %j, which is no message of MCP", async (message, field) => {
    const answer = await postJson(`${service.url}/mcp`, message, { ...WRITE, "x-user-id": "ada" });
    expectRefusal(answer, { status: 400, code: "invalid_request", field });
  });

  test("refuses an unknown version of the protocol, and has no stream to follow", async () => {
    const headers = { ...WRITE, "x-user-id": "ada" };
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const old = await postJson(`${service.url}/mcp`, ping, { ...headers, "mcp-protocol-version": "1999-01-01" });
    expectRefusal(old, { status: 400, code: "invalid_request", field: "MCP-Protocol-Version" });
    const { status, headers: answered } = await callApi(`${service.url}/mcp`, { headers });
    expect([status, answered.get("allow")]).toEqual([405, "POST"]);
  });

  test.each([
    ["a blank", "recall", { query: " " }],
    ["a NUL", "recall", { query: "x\0" }],
    ["a high limit", "recall", { query: "x", limit: 1e9 }],
    ["another user", "recall", { query: "x", user_id: "eve" }],
    ["half a character", "remember", { content: "\ud800" }],
    ["a section that does not exist", "core_memory_update", { section: "nonsense", content: "x" }],
    ["too long a section", "core_memory_update", { section: "goals", content: "x".repeat(2_001) }],
    ["a wrong cursor", "list_conversations", { after: "rubbish" }],
    ["an unknown tool", "no_such_tool", {}],
  ])("explains the fault of %s for %s, and changes nothing", async (_what, name, given) => {
    const user = aUser();
    const client = await connectAs(user);
    const { isError, text } = await call(client, name, given).catch((error: unknown) => ({ isError: true, text: String(error) }));
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringMatching(/\w+ \w+/) as unknown });
    expect(text).not.toMatch(/postgres|node_modules|SQLSTATE/i);
    expect(await listConversations(service.url, user, WRITE)).toEqual([]);
  });
});
