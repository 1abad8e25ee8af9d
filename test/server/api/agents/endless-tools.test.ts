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
import { useAgentService } from "./agent-service.ts";

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

  test("answers without them in the time of its agent, and says so", async () => {
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

  test("ends by SIGTERM", async () => {
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
