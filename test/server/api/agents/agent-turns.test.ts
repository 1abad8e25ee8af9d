import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { ToolHooks } from "../../../../agents/run-tool-call.ts";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import type { ChatRequestBody } from "../../../servers/model-server.ts";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { beginTurn } from "../../../support/clients/event-client.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { calls, useAgentService } from "./agent-service.ts";

let runs = 0;
let release: (() => void) | undefined;
const order = tool(
  async ({ item }) => {
    runs++;
    await new Promise<void>((resolve) => (item === "slow" ? (release = resolve) : resolve()));
    return `ordered ${item}`;
  },
  { name: "order", description: "Orders an item.", schema: z.object({ item: z.string() }) },
);
const hooks: ToolHooks = {
  before({ arguments: given }) {
    if (JSON.stringify(given).includes("poison")) throw new Error("no poison is ordered here");
  },
  after: ({ output }) => output.replace("tea", "green tea"),
};
const { opened, follow, makeAgent, chats, ask } = useAgentService(
  {},
  {
    extras: {
      tools: [fromLangChainTool(order)],
      agents: { clerk: { description: "Orders", tools: ["order"], permissions: [{ tool: "order", action: "allow" }] } },
      hooks,
    },
  },
);

describe("a turn of an agent", () => {
  test("shows each call and its result, stores both as steps and answers from them", async () => {
    await makeAgent("calculator", { tools: ["calculate"], instructions: "You count." });
    follow([calls("calculate", { expression: "6*7" })], "It is 42.");
    const { events, of, steps, done } = await ask("calculator", "What is 6*7?");
    expect(events.filter((status) => status.startsWith("tool"))).toEqual(["tool_call", "tool_result"]);
    expect(of("tool_result")[0]).toMatchObject({ name: "calculate", ok: true, output: "42", cut: false });
    expect(done).toMatchObject({ answer: "It is 42.", agent: "calculator", tool_calls: 1, steps: 3 });
    expect(steps.map(({ kind, name, ok, output }) => [kind, name, ok, output])).toEqual([
      ["model", "test-chat", true, ""],
      ["tool", "calculate", true, "42"],
      ["model", "test-chat", true, "It is 42."],
    ]);
    const [first, second] = chats().slice(-2);
    expect(first?.body.tools?.map(({ function: { name } }) => name)).toEqual(["calculate"]);
    expect(first?.body.messages[0]?.content).toContain("You count.");
    expect(second?.body.messages.slice(-2)).toMatchObject([
      { role: "assistant", tool_calls: [{ function: { name: "calculate" } }] },
      { role: "tool", content: "<tool_output>\n> 42\n</tool_output>" },
    ]);
  });

  test("reads every kind of failure as a result, and goes on", async () => {
    await makeAgent("failing", { tools: ["calculate", "order"], permissions: [{ tool: "order", action: "deny" }] });
    const wrong = [calls("calculate", { expression: "6*" }, "a"), calls("nothing", {}, "b"), calls("calculate", { wrong: 1 }, "c")];
    follow([...wrong, calls("calculate", "{no json", "d"), calls("order", { item: "tea" }, "e")], "Sorry.");
    const { of, done } = await ask("failing", "try");
    const codes = of("tool_result").map(({ call_id, ok, output }) => [call_id, ok, (JSON.parse(output) as { error: string }).error]);
    expect(codes.sort()).toEqual([
      ["a", false, "invalid_expression"],
      ["b", false, "unknown_tool"],
      ["c", false, "invalid_arguments"],
      ["d", false, "invalid_arguments"],
      ["e", false, "permission_denied"],
    ]);
    expect(done?.answer).toBe("Sorry.");
  });

  test("does not run a tool that changes something unless a rule allows it", async () => {
    await makeAgent("careful", { tools: ["order"] });
    const before = runs;
    follow([calls("order", { item: "tea" })], "Not ordered.");
    const { of } = await ask("careful", "order tea", undefined, { interactive: false });
    expect(of("tool_result")[0]).toMatchObject({ ok: false, output: expect.stringContaining("nobody can be asked") });
    expect(runs).toBe(before);
  });

  test("keeps a finished call when the model's server then fails, and reports the error without an answer", async () => {
    await makeAgent("broken", { tools: ["calculate"] });
    let rounds = 0;
    opened.model.answer(({ model, tools }) => {
      if (model !== "test-chat" || !tools) return { tokens: ["nothing"] };
      return rounds++ === 0 ? { toolCalls: [calls("calculate", { expression: "6*7" })] } : { status: 400 };
    });
    const { of, steps } = await ask("broken", "What is 6*7?");
    expect(of("error")).toMatchObject([{ code: "model_refused" }]);
    expect(of("done")).toEqual([]);
    expect(steps[1]).toMatchObject({ kind: "tool", output: "42", ok: true });
  });

  test("searches the knowledge base that its agent names", async () => {
    await putJson(`${opened.url}/api/v1/knowledge/teas`, { description: "Teas of the house" });
    await makeAgent("host", { tools: ["calculate"], knowledge: "teas" });
    follow("Welcome.");
    expect((await ask("host", "What is there?")).of("route_decision")).toMatchObject([{ kb_prefix: "teas" }]);
  });

  test("is stored as failed when it is cancelled while its model thinks", async () => {
    await makeAgent("slow", { tools: ["calculate"] });
    opened.model.answer(({ model }) => (model === "test-chat" ? { tokens: ["half "], ending: "hang" } : { tokens: ["nothing"] }));
    const { turnId, ended } = await beginTurn(opened.url, { user_id: "ada", session_id: "stopped", message: "think", agent: "slow" });
    await waitUntil("the model is asked", () => chats().at(-1)?.body.messages.at(-1)?.content === "think");
    expect((await postJson(`${opened.url}/api/v1/turns/${turnId}/cancel`, {})).status).toBeLessThan(300);
    await ended;
    const { json } = await callApi<{ state: string }>(`${opened.url}/api/v1/turns/${turnId}`);
    expect(json.state).toBe("failed");
  });

  test("stores a call before it runs", async () => {
    await makeAgent("buyer", { tools: ["order"], permissions: [{ tool: "order", action: "allow" }] });
    follow([calls("order", { item: "slow" })], "Ordered.");
    const { turnId, ended } = await beginTurn(opened.url, { user_id: "ada", session_id: "slow", message: "order", agent: "buyer" });
    await waitUntil("the tool runs", () => release !== undefined);
    const stepsNow = async () => (await callApi<{ steps: object[] }>(`${opened.url}/api/v1/turns/${turnId}/steps`)).json.steps;
    expect((await stepsNow())[1]).toMatchObject({ kind: "tool", name: "order", arguments: { item: "slow" }, output: null, ok: null });
    release?.();
    await ended;
    expect((await stepsNow())[1]).toMatchObject({ output: "ordered slow", ok: true });
  });

  test("runs the hooks of a program's agent around each call", async () => {
    follow([calls("order", { item: "poison" }, "a"), calls("order", { item: "tea" }, "b")], "Ordered.");
    const { of } = await ask("clerk", "order both");
    const results = new Map(of("tool_result").map(({ call_id, ok, output }) => [call_id, [ok, output]]));
    expect(results.get("a")).toEqual([false, expect.stringContaining("no poison is ordered here")]);
    expect(results.get("b")).toEqual([true, "ordered green tea"]);
  });

  test.each<[limit: string, limits: object, most: number]>([
    ["3 steps", { max_steps: 3 }, 2],
    ["2 calls of tools", { max_tool_calls: 2 }, 2],
  ])("ends with an answer and a notice at its limit of %s", async (limit, limits, most) => {
    await makeAgent("endless", { tools: ["calculate"], limits });
    let round = 0;
    opened.model.answer(({ model, tools }) =>
      tools && model === "test-chat" ? { toolCalls: [calls("calculate", { expression: `${round++}+1` })] } : { tokens: ["Enough."] },
    );
    const { of, done } = await ask("endless", "go on for ever");
    expect(done).toMatchObject({ answer: "Enough.", completed: true, tool_calls: most });
    expect(of("notice")).toMatchObject([{ code: "agent_limit", message: expect.stringContaining(limit) }]);
  });

  test("sees the calls of earlier turns when it has tools, and only their answers when it has none", async () => {
    await makeAgent("remembering", { tools: ["calculate"] });
    follow([calls("calculate", { expression: "1+1" })], "Two.");
    await ask("remembering", "1+1?", "remembered");
    follow("As before.");
    await ask("remembering", "And again?", "remembered");
    const roles = (body: ChatRequestBody | undefined) => body?.messages.map(({ role }) => role).slice(1);
    expect(roles(chats().at(-1)?.body)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    await ask("assistant", "And again?", "remembered");
    expect(roles(chats().at(-1)?.body)).toEqual(["user", "assistant", "user", "assistant", "user"]);
  });

  test("gives a task to a subagent, whose steps are stored under its name", async () => {
    await makeAgent("worker", { tools: ["calculate"], instructions: "You work." });
    await makeAgent("boss", { tools: ["current_time"], subagents: ["worker"] });
    opened.model.answer(({ model, messages }) => {
      if (model !== "test-chat") return { tokens: ["nothing"] };
      const isWorker = String(messages[0]?.content).includes("You work.");
      const hasResult = messages.at(-1)?.role === "tool";
      if (isWorker) return hasResult ? { tokens: ["42"] } : { toolCalls: [calls("calculate", { expression: "6*7" })] };
      return hasResult ? { tokens: ["The worker says 42."] } : { toolCalls: [calls("ask_agent", { agent: "worker", task: "6*7" })] };
    });
    const { steps, done } = await ask("boss", "Have it counted.");
    expect(done?.answer).toBe("The worker says 42.");
    expect(steps.map(({ agent, kind, name }) => [agent, kind, name])).toEqual([
      ["boss", "model", "test-chat"],
      ["boss", "tool", "ask_agent"],
      ["worker", "model", "test-chat"],
      ["worker", "tool", "calculate"],
      ["worker", "model", "test-chat"],
      ["boss", "model", "test-chat"],
    ]);
  });

  test("gives a notice when the knowledge base of its agent no longer exists", async () => {
    await putJson(`${opened.url}/api/v1/knowledge/handbook`, { description: "The handbook" });
    await makeAgent("librarian", { tools: ["current_time"], knowledge: "handbook" });
    await callApi(`${opened.url}/api/v1/knowledge/handbook`, { method: "DELETE" });
    follow("Without it.");
    const { of, done } = await ask("librarian", "What is written there?");
    expect(of("notice")).toMatchObject([{ code: "knowledge_missing", message: expect.stringContaining('"handbook"') }]);
    expect(done?.answer).toBe("Without it.");
  });

  test("finds its agent by the agent's keywords", async () => {
    await makeAgent("weather", { tools: ["current_time"], keywords: ["weather", "天气"] });
    follow("Sunny.");
    const { json } = await postJson<{ agent: string }>(`${opened.url}/api/v1/chat`, {
      user_id: "ada",
      session_id: "w",
      message: "今天天气怎么样？",
    });
    expect(json.agent).toBe("weather");
    const { json: plain } = await postJson<{ agent: string }>(`${opened.url}/api/v1/chat`, {
      user_id: "ada",
      session_id: "w2",
      message: "hello",
    });
    expect(plain.agent).toBe("assistant");
  });

  test("lists its steps and its agent's state on request, and both are erased with the conversation", async () => {
    follow([calls("calculate", { expression: "123454321*1" })], "Done.");
    const { done, turnId } = await ask("calculator", "count");
    const conversation = `${opened.url}/api/v1/conversations/${done?.conversation_id}`;
    const { json } = await callApi<{ messages: { role: string; steps?: { kind: string }[] }[] }>(`${conversation}/messages?include=steps`);
    expect(json.messages.map(({ steps }) => steps?.map(({ kind }) => kind))).toEqual([undefined, ["model", "tool", "model"]]);
    expect((await callApi<{ agents: object[] }>(`${conversation}/agents`)).json.agents).toMatchObject([
      {
        agent: "calculator",
        interaction_count: 1,
        last_interaction_type: "answered",
        state_description: "input: count | output: Done.",
      },
    ]);
    expect((await callApi(conversation, { method: "DELETE" })).status).toBe(200);
    expect((await callApi(`${opened.url}/api/v1/turns/${turnId}/steps`)).status).toBe(404);
    expect((await callApi(`${conversation}/agents`)).status).toBe(404);
  });
});
