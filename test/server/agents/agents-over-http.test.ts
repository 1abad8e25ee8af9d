import { describe, expect, test } from "@jest/globals";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const opened = useServiceWithModel();
const url = (name = "") => `${opened.url}/api/v1/agents${name && `/${name}`}`;
const put = (name: string, body: object) => putJson<Record<string, unknown>>(url(name), body);

describe("agents over HTTP", () => {
  test("an agent is made, listed with its defaults, changed and deleted", async () => {
    const made = await put("helper", { description: "Calculates", tools: ["calculate"] });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: "helper",
      tier: "tenant",
      version: 1,
      disabled: false,
      limits: { max_steps: 10, max_tool_calls: 50 },
    });
    expect((await put("helper", { description: "Calculates", tools: ["calculate"] })).json).toMatchObject({ version: 1 });
    const changed = await put("helper", { description: "Calculates well", tools: ["calculate"] });
    expect([changed.status, changed.json["version"]]).toEqual([200, 2]);
    const { json } = await callApi<{ agents: { name: string }[] }>(url());
    expect(json.agents.map(({ name }) => name)).toEqual(["assistant", "helper"]);
    const { json: kept } = await callApi<{ versions: { version: number; agent: { description: string } }[] }>(`${url("helper")}/versions`);
    expect(kept.versions.map(({ version, agent }) => [version, agent.description])).toEqual([
      [2, "Calculates well"],
      [1, "Calculates"],
    ]);
    expect((await callApi(url("helper"), { method: "DELETE" })).json).toEqual({ deleted: true });
    expect((await callApi(url("helper"))).status).toBe(404);
  });

  test.each<[field: string, body: object]>([
    ["description", {}],
    ["tools.0", { description: "x", tools: ["no spaces"] }],
    ["limits.max_steps", { description: "x", limits: { max_steps: 0 } }],
    ["permissions.0.action", { description: "x", permissions: [{ tool: "calculate", action: "maybe" }] }],
    ["memory.summmary", { description: "x", memory: { summmary: false } }],
    ["model", { description: "x", model: "unheard-of" }],
    ["knowledge", { description: "x", knowledge: "nothing-there" }],
    ["subagents", { description: "x", subagents: ["nobody"] }],
    ["disabled", { disabled: true }],
  ])("a wrong %s is refused by its name", async (field, body) => {
    const { status, json } = await put("wrong", body);
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: { code: "invalid_request", details: expect.arrayContaining([expect.objectContaining({ field })]) },
    });
  });

  test.each<[what: string, path: string, right: object, wrong: object, field: string]>([
    ["an agent", "agents/draft", { description: "Helps" }, { description: "Helps", tools: ["no spaces"] }, "tools.0"],
    [
      "a skill",
      "skills/draft",
      { files: { "SKILL.md": "---\nname: draft\ndescription: Helps\n---\nHelp." } },
      { files: {} },
      "files.SKILL.md",
    ],
    ["an MCP server", "mcp-servers/draft", { url: "https://docs.example.org/mcp" }, { url: "docs" }, "url"],
  ])("%s can be checked without being kept", async (_what, path, right, wrong, field) => {
    const address = `${opened.url}/api/v1/${path}`;
    const checked = await putJson<Record<string, unknown>>(`${address}?dry_run=true`, right);
    expect([checked.status, checked.json["name"], checked.json["tier"]]).toEqual([200, "draft", "tenant"]);
    const refused = await putJson(`${address}?dry_run=true`, wrong);
    expect([refused.status, refused.json]).toMatchObject([400, { error: { details: [{ field }] } }]);
    expect((await callApi(address)).status).toBe(404);
  });

  test("the built-in assistant cannot be changed", async () => {
    expect((await put("assistant", { description: "Mine" })).status).toBe(400);
  });

  test("a turn that names an agent which does not exist is refused before it begins", async () => {
    const body = { user_id: "ada", session_id: "s", message: "hello", agent: "nobody" };
    const { status, json } = await postJson(`${opened.url}/api/v1/chat`, body);
    expect(status).toBe(400);
    expect(json.error.message).toContain('there is no agent "nobody"');
  });
});
