import { describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { calls, useAgentService } from "./agent-service.ts";

interface History {
  items: { turn_id: string; path: string[]; input: string; output: string; ok: boolean; at: string }[];
  next: string | null;
}

const { opened, follow, makeAgent, ask, chats } = useAgentService();
const url = (rest: string): string => `${opened.url}/api/v1/${rest}`;

describe("what an agent did", () => {
  test("is told of a conversation, page by page, and in figures", async () => {
    await makeAgent("counter", { tools: ["calculate"] });
    const turns: string[] = [];
    let conversation = "";
    for (const message of ["one", "two", "three"]) {
      follow([calls("calculate", { expression: "1+1" })], `It is ${message}.`);
      const { done, turnId, steps } = await ask("counter", message, "counted");
      expect(steps.map(({ path }) => path)).toEqual(steps.map(() => ["counter"]));
      conversation = done?.conversation_id ?? "";
      turns.push(turnId);
    }
    const history = async (query: string) =>
      (await callApi<History>(url(`conversations/${conversation}/agents/counter/history${query}`))).json;
    const first = await history("?limit=2");
    expect(first.items.map(({ turn_id, input, output }) => [turn_id, input, output])).toEqual([
      [turns[2], "three", "It is three."],
      [turns[1], "two", "It is two."],
    ]);
    const rest = await history(`?limit=2&before=${first.next}`);
    expect(rest).toMatchObject({ items: [{ turn_id: turns[0], path: ["counter"], tool_calls: 1, ok: true }], next: null });
    const { json: stats } = await callApi<{ by_day: object[] }>(url("agents/counter/stats"));
    expect(stats).toMatchObject({ invocations: 3, as_member: 0, success_rate: 1, tool_calls: 3, cost: null, by_day: [{ invocations: 3 }] });
    const { json: none } = await callApi(url("agents/counter/stats?from=2020-01-01&to=2020-01-31"));
    expect(none).toMatchObject({ invocations: 0, success_rate: null, avg_ms: null, by_day: [] });
    const { json: shown } = await callApi(url(`conversations/${conversation}`));
    expect(shown).toMatchObject({ active_agent: null });
  });

  test.each([
    ["agents/counter/stats?from=yesterday", "from"],
    ["agents/counter/stats?to=2026-13-01", "to"],
    ["agents/counter/stats?from=2026-11-02&to=2026-11-01T00:00:00Z", "from"],
    ["agents/Counter/stats", "name"],
  ])("is not told for %s, and the refusal names the field", async (path, field) => {
    expectRefusal(await callApi(url(path)), { status: 400, code: "invalid_request", field });
  });

  test("is not told for a wrong cursor or of a conversation that is not there", async () => {
    const { done } = await (follow("Yes."), ask("counter", "again", "cursors"));
    const at = `conversations/${done?.conversation_id}/agents/counter/history`;
    for (const before of ["x", "x.1", `${Buffer.from("2026 x").toString("base64url")}.1`])
      expectRefusal(await callApi(url(`${at}?before=${before}`)), { status: 400, code: "invalid_request", field: "before" });
    const { status } = await callApi(url("conversations/00000000-0000-7000-8000-000000000001/agents/counter/history"));
    expect(status).toBe(404);
  });
});

describe("agents that fit a message", () => {
  const match = (body: object) =>
    postJson<{ matches: { agent: string; score: number; method: string; reason: string }[] }>(url("agents/match"), body);

  test("are told, first the one that routing chooses, without a model and without a trace", async () => {
    await makeAgent("sailor", { description: "Boats", keywords: ["harbour", "boat"], tools: ["calculate"] });
    await makeAgent("porter", { description: "Loads goods", keywords: ["harbour"], tools: ["calculate"] });
    const asked = chats().length;
    const { status, json } = await match({ user_id: "zoe", message: "Which boat is in the harbour?" });
    expect([status, json.matches.map(({ agent, method }) => [agent, method])]).toEqual([
      200,
      [
        ["sailor", "rule"],
        ["porter", "rule"],
      ],
    ]);
    expect(json.matches[0]).toMatchObject({ score: 0.9, reason: 'the message has "harbour", "boat"' });
    expect((await match({ user_id: "zoe", message: "Thank you!" })).json).toEqual({ matches: [] });
    expect(chats()).toHaveLength(asked);
    const { json: listed } = await callApi<{ conversations: object[] }>(url("conversations?user_id=zoe"));
    expect(listed.conversations).toEqual([]);
  });

  test.each([
    ["message", { user_id: "zoe", message: " " }],
    ["user_id", { message: "boat" }],
    ["agent", { user_id: "zoe", message: "boat", agent: "sailor" }],
  ])("are refused without %s as it should be", async (field, body) => {
    expectRefusal(await postJson(url("agents/match"), body), { status: 400, code: "invalid_request", field });
  });
});
