import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { MCP_TIMES } from "../../../../agents/mcp/mcp-connection.ts";
import { startEndlessMcpServer } from "../../../servers/endless-mcp-server.ts";
import { startModelServer } from "../../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../../../servers/service-process.ts";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { beginTurn, contentOf } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { useAgentService, calls } from "./agent-service.ts";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { fromLangChainTool } from "../../../../agents/tool.ts";

const LONGER_THAN_THE_TEST_MS = 3_600_000;
const lists = (seen: readonly string[]): number => seen.filter((method) => method === "tools/list").length;
describe("a turn whose MCP server never lists its tools", () => {
  const server = useOpened(() => startEndlessMcpServer("tools/list"));
  const { opened, follow, makeAgent, ask } = useAgentService(
    { SECRETS_KEY: "a key of more than thirty-two characters" },
    { mcp: { reach: { isAllowed: () => true }, times: { ...MCP_TIMES, answerMs: LONGER_THAN_THE_TEST_MS } } },
  );
  beforeAll(async () => {
    const url = server.url.replace("127.0.0.1", "localhost");
    expect((await putJson(`${opened.url}/api/v1/mcp-servers/endless`, { url })).status).toBe(201);
    await makeAgent("brief", { tools: ["mcp__endless__*"], limits: { timeout_s: 1 } });
    await makeAgent("patient", { tools: ["mcp__endless__*"] });
  });

  test("answers without these tools in the time of its agent, and gives a notice", async () => {
    follow("Without.");
    const { of, done } = await ask("brief", "go");
    const message = 'The MCP server "endless" has not told its tools in the time of the agent. Its tools are missing.';
    expect(of("notice")).toContainEqual({ code: "mcp_unavailable", message });
    expect(done?.answer).toBe("Without.");
  });

  const begin = async (user: string) => {
    const turn = await beginTurn(opened.url, { user_id: user, session_id: "waiting", message: "go", agent: "patient" });
    await waitUntil("the message is stored", async () => {
      const { json } = await callApi<{ conversations: object[] }>(`${opened.url}/api/v1/conversations?user_id=${user}`);
      return json.conversations.length > 0;
    });
    return turn;
  };

  test("ends when it is cancelled", async () => {
    const { turnId, ended } = await begin("eve");
    expect((await postJson(`${opened.url}/api/v1/turns/${turnId}/cancel`, {})).status).toBe(200);
    expect(contentOf((await ended).events, "error")).toMatchObject({ code: "turn_cancelled" });
  });

  test("ends when its user is erased", async () => {
    const { ended } = await begin("max");
    expect((await callApi(`${opened.url}/api/v1/users/max`, { method: "DELETE" })).status).toBe(200);
    expect((await ended).events.at(-1)?.data.status).toBe("error");
  });
});
describe("a process whose turn waits for an MCP server", () => {
  const database = useTestPostgres();
  const model = useOpened(() => startModelServer());
  const server = useOpened(() => startEndlessMcpServer("tools/list"));
  const folder = mkdtempSync(path.join(os.tmpdir(), "endless-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  afterEach(killServiceProcesses);

  test("ends on SIGTERM", async () => {
    const MCP_CONFIG = path.join(folder, "mcp.json");
    writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers: { endless: { url: server.url } } }));
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      OPENAI_BASE_URL: model.url,
      MCP_CONFIG,
      SHUTDOWN_GRACE_MS: "100",
    });
    const agent = { description: "Waits", tools: ["mcp__endless__*"] };
    expect((await putJson(`${service.url}/api/v1/agents/patient`, agent)).status).toBe(201);
    const { ended } = await beginTurn(service.url, { user_id: "ada", session_id: "s", message: "go", agent: "patient" });
    await waitUntil("the list is asked for", () => lists(server.seen) > 0);
    service.kill("SIGTERM");
    expect(contentOf((await ended).events, "error")).toMatchObject({ code: "shutting_down" });
    expect(await service.exited).toBe(0);
  });
});

describe("hostile calls of a model", () => {
  const hooked: unknown[] = [];
  const order = tool(async ({ item }: { item: string }) => `ordered ${item}`, {
    name: "order",
    description: "Orders an item.",
    schema: z.strictObject({ item: z.string() }),
  });
  const recite = tool(async () => "line of a long poem\n".repeat(1_000), { name: "recite", description: "Recites.", schema: z.object({}) });
  const { follow, makeAgent, chats, ask } = useAgentService(
    {},
    {
      extras: {
        tools: [order, recite].map((one) => fromLangChainTool(one, { onlyReads: true })),
        hooks: { before: ({ arguments: given }) => void hooked.push(given) },
      },
    },
  );
  beforeAll(() => makeAgent("all", { tools: ["*"] }));
  type Call = Parameters<typeof calls>;
  const call = async (...asked: Call[]) => {
    follow(
      asked.map((one) => calls(...one)),
      "Done.",
    );
    const { of, steps, done } = await ask("all", "go");
    expect(done).toMatchObject({ answer: "Done.", completed: true });
    return { results: of("tool_result"), steps: steps.filter(({ kind }) => kind === "tool") };
  };
  const nested = (levels: number): string => `{"expression":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  describe("with unusual content", () => {
    test.each<[what: string, call: Call, says: string]>([
      ["a NUL in the name of a field", ["calculate", '{"a\\u0000b":1}'], "invalid_arguments"],
      ["half a surrogate pair in the name of a field", ["calculate", '{"a\\ud800b":1}'], "invalid_arguments"],
      ["lists in lists", ["calculate", nested(101)], "nest deeper than 100 levels"],
      ["a field named __proto__", ["calculate", '{"__proto__":{"expression":"1"}}'], "invalid_arguments"],
      ["a section of core memory that does not exist", ["core_memory_update", { section: "secrets", content: "x" }], "section: "],
      ["too much for core memory", ["core_memory_update", { section: "goals", content: "x".repeat(2_001) }], "content: "],
      ["an importance over 1", ["memory_save", { content: "x", importance: 2 }], "importance: "],
      ["51 items of a plan", ["todo_write", { items: Array(51).fill({ content: "x", status: "pending" }) }], "items: "],
      ["an unknown status of a plan's item", ["todo_write", { items: [{ content: "x", status: "perhaps" }] }], "items.0.status: "],
      ["a time zone that is a path", ["current_time", { time_zone: "../../etc/passwd" }], "invalid_time_zone"],
      ["a knowledge base that does not exist", ["knowledge_search", { query: "x", kb: "a' or 1=1" }], "unknown_knowledge_base"],
      ["no tool's name", ["", {}], "unknown_tool"],
      ["a NUL in the tool's name", ["calc\0ulate", {}], "unknown_tool"],
    ])("become failed results that the model reads: %s", async (_what, asked, says) => {
      const { results, steps } = await call(asked);
      expect(results).toMatchObject([{ ok: false, output: expect.stringContaining(says) as unknown }]);
      expect(steps).toMatchObject([{ ok: false, output: results[0]?.output }]);
    });

    test("succeed without the characters that cannot be stored", async () => {
      const { results } = await call(
        ["core_memory_update", '{"section":"goals","content":"Sails\\u0000 far\\ud800."}', "a"],
        ["memory_save", '{"content":"Has\\u0000 a boat."}', "b"],
        ["todo_write", '{"items":[{"content":"Sail\\u0000","status":"pending"}]}', "c"],
      );
      expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
    });
  });
  test("fail with a text that is cut when it quotes the model", async () => {
    const { steps } = await call(["calculate", JSON.stringify({ ["k".repeat(20_000)]: 1 })]);
    expect(String(steps[0]?.["output"]).length).toBeLessThan(2_500);
  });
  test("reach a hook only when their arguments fit the schema", async () => {
    const { results } = await call(["order", { wrong: 1 }, "a"], ["order", { item: "tea" }, "b"]);
    expect(results.find(({ call_id }) => call_id === "a")?.output).toContain("item: ");
    expect(hooked.filter((given) => JSON.stringify(given).match(/wrong|tea/))).toEqual([{ item: "tea" }]);
  });
  test("have the first 4,000 characters of their output in the event, and all of it in the step", async () => {
    const { results, steps } = await call(["recite", {}]);
    const whole = "line of a long poem\n".repeat(1_000);
    expect(results).toMatchObject([{ ok: true, cut: true, output: whole.slice(0, 4_000) }]);
    expect(steps[0]?.["output"]).toBe(whole);
  });
  test("are told apart when two of one answer have the same id", async () => {
    await call(["order", { item: "tea" }, "same"], ["order", { item: "milk" }, "same"]);
    const said = chats().at(-1)?.body.messages.slice(-3) ?? [];
    const asked = said[0]?.tool_calls?.map(({ id }) => id) ?? [];
    expect(new Set(asked).size).toBe(2);
    expect(said.slice(1).map(({ tool_call_id, content }) => [tool_call_id, content.includes("tea")])).toEqual([
      [asked[0], true],
      [asked[1], false],
    ]);
  });
});
