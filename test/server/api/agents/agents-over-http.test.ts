import { describe, expect, test } from "@jest/globals";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const opened = useServiceWithModel();
const url = (name = "") => `${opened.url}/api/v1/agents${name && `/${name}`}`;
const put = (name: string, body: object) => putJson<Record<string, unknown>>(url(name), body);

describe("over HTTP,", () => {
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
    ["tools.1", { description: "x", tools: ["calc*", "calcualte"] }],
    ["permissions.0.tool", { description: "x", tools: ["*"], permissions: [{ tool: "calcualte", action: "deny" }] }],
    ["limits.max_steps", { description: "x", limits: { max_steps: 0 } }],
    ["permissions.0.action", { description: "x", permissions: [{ tool: "calculate", action: "maybe" }] }],
    ["memory.summmary", { description: "x", memory: { summmary: false } }],
    ["model", { description: "x", model: "unheard-of" }],
    ["knowledge", { description: "x", knowledge: "nothing-there" }],
    ["subagents", { description: "x", subagents: ["nobody"] }],
    ["disabled", { disabled: true }],
    ["disabled", { disabled: true, description: "x" }],
    ["name", { description: "x", name: "x" }],
    ["__proto__", JSON.parse('{"description":"x","__proto__":{}}') as object],
    ["description", { description: "x".repeat(1_025) }],
    ["description", { description: "a\0" }],
    ["instructions", { description: "x", instructions: "x".repeat(20_001) }],
    ["instructions", { description: "x", instructions: " " }],
    ["temperature", { description: "x", temperature: 2.1 }],
    ["max_output_tokens", { description: "x", max_output_tokens: 0 }],
    ["tools", { description: "x", tools: "calculate" }],
    ["tools", { description: "x", tools: Array(201).fill("a") }],
    ["skills.0", { description: "x", skills: ["No Name"] }],
    ["keywords.0", { description: "x", keywords: ["k".repeat(101)] }],
    ["permissions.0.why", { description: "x", permissions: [{ tool: "a", action: "deny", why: "x" }] }],
    ["limits", { description: "x", limits: [] }],
    ["limits.steps", { description: "x", limits: { steps: 1 } }],
    ["limits.max_steps", { description: "x", limits: { max_steps: 101 } }],
    ["limits.max_tool_calls", { description: "x", limits: { max_tool_calls: -1 } }],
    ["limits.timeout_s", { description: "x", limits: { timeout_s: 86_401 } }],
    ["limits.parallel_tools", { description: "x", limits: { parallel_tools: 51 } }],
    ["memory", { description: "x", memory: null }],
    ["memory.summary", { description: "x", memory: { summary: "no" } }],
    ["subagents", { description: "x", subagents: ["wrong"] }],
    ["subagents", { description: "x", subagents: ["assistant"] }],
    ["subagents.0", { description: "x", subagents: ["No Name"] }],
    ["handoffs", { description: "x", handoffs: ["nobody"] }],
    ["handoffs", { description: "x", handoffs: ["wrong"] }],
    ["handoffs", { description: "x", handoffs: ["assistant"] }],
    ["team.strategy", { description: "x", team: { strategy: "single" } }],
    ["team.strategy", { description: "x", team: { strategy: "parallel" }, subagents: [] }],
    ["team.strategy", { description: "x", team: { strategy: "random" } }],
    ["team.share", { description: "x", team: { share: "all" } }],
    ["limits.max_depth", { description: "x", limits: { max_depth: 11 } }],
  ])("a wrong field %s of an agent is refused by its name", async (field, body) => {
    const { status, json } = await put("wrong", body);
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: {
        code: "invalid_request",
        details: expect.arrayContaining([{ field, problem: expect.not.stringMatching(/^Invalid input|^Too /) as unknown }]),
      },
    });
  });

  test("agents that are each other's members may be stored, and rules may name the tools of teams", async () => {
    const rules = ["ask_agent", "handoff_to"].map((tool) => ({ tool, action: "ask" }));
    expect((await put("circle-a", { description: "x", permissions: rules })).status).toBe(201);
    expect((await put("circle-b", { description: "x", subagents: ["circle-a"], handoffs: ["circle-a"] })).status).toBe(201);
    expect((await put("circle-a", { description: "x", subagents: ["circle-b"], handoffs: ["circle-b"] })).status).toBe(200);
  });

  test("a tool that is switched off is refused with the name of the setting that switches it on", async () => {
    const { json } = await put("reader", { description: "Reads", tools: ["web_fetch"] });
    expect(json).toMatchObject({ error: { message: expect.stringContaining("WEB_FETCH=true") } });
  });

  test("an agent may name things that its tenant can still add, and the answer warns of them until they exist", async () => {
    const spec = { description: "Reads", tools: ["mcp__docs__read", "*"], skills: ["trips", "*"] };
    const warnings = [
      { field: "tools.0", problem: '"mcp__docs__read" names no MCP server that there is; there are: none' },
      { field: "skills.0", problem: 'there is no skill "trips"; there are: none' },
    ];
    expect(await putJson(`${url("early")}?dry_run=true`, spec)).toMatchObject({ status: 200, json: { warnings } });
    expect((await put("early", spec)).json).toMatchObject({ version: 1, warnings });
    const files = { "SKILL.md": "---\nname: trips\ndescription: Plans trips\n---\nPlan." };
    expect((await putJson(`${opened.url}/api/v1/skills/trips`, { files })).status).toBe(201);
    expect((await put("early", spec)).json).toMatchObject({ warnings: [warnings[0]] });
    await callApi(`${opened.url}/api/v1/skills/trips`, { method: "DELETE" });
    await callApi(url("early"), { method: "DELETE" });
  });

  test("an agent may have the longest texts and the largest and smallest limits", async () => {
    const limits = { max_steps: 100, max_tool_calls: 1_000, timeout_s: 86_400, parallel_tools: 50 };
    const most = { description: "x".repeat(1_024), instructions: "x".repeat(20_000), temperature: 2, max_output_tokens: 1_000_000, limits };
    expect((await put("a".repeat(64), most)).json).toMatchObject(most);
    const least = { max_steps: 1, max_tool_calls: 0, timeout_s: 1, parallel_tools: 1 };
    expect((await put("-", { description: "x", temperature: 0, limits: least })).json).toMatchObject({ temperature: 0, limits: least });
  });

  test.each(["a".repeat(65), "A", "a_b", "a%20b", "%00", "a%0A", "..%2Fx"])("an agent is refused when its name is %s", async (name) => {
    const { status, json } = await put(name, { description: "x" });
    expect([status, json]).toMatchObject([400, { error: { details: [{ field: "name" }] } }]);
  });

  test("a deleted agent loses its versions, and a new one of the same name begins at version 1", async () => {
    for (const description of ["a", "b"]) await put("again", { description });
    expect((await callApi(url("again"), { method: "DELETE" })).status).toBe(200);
    expect((await put("again", { description: "c" })).json).toMatchObject({ version: 1 });
    expect((await callApi<{ versions: object[] }>(`${url("again")}/versions`)).json.versions).toHaveLength(1);
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
  ])("%s can be checked without being stored", async (_what, path, right, wrong, field) => {
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
