import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, expect, test, describe } from "@jest/globals";
import { contentOf, postTurn, readEvents, tokenText } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";

describe("a call of", () => {
  const MCP_CONFIG = path.join(mkdtempSync(path.join(tmpdir(), "permissions-")), "mcp.json");
  const odd = { command: process.execPath, args: [path.resolve("test/servers/odd-mcp-server.ts")] };
  writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers: { odd } }));
  const database = useTestPostgres();
  const open = (trusts: boolean) =>
    openServiceWithModel({ DATABASE_URL: database.url, MCP_CONFIG, TRUST_MCP_HINTS: String(trusts) }, { extras: { tools: ORDER_TOOLS } });
  const trusting = useOpened(() => open(true));
  const doubting = useOpened(() => open(false));
  /** What there is to call; of the MCP server, `echo` has the hint that it only reads, `later` has none. */
  const TOOLS = {
    "a built-in tool that reads": { tool: "calculate", given: { expression: "6*7" }, service: doubting },
    "a tool that changes something": { tool: "order", given: { item: "tea" }, service: doubting },
    "an MCP tool with a trusted hint": { tool: "mcp__odd__echo", given: { text: "tea" }, service: trusting },
    "an MCP tool with a hint that nobody trusts": { tool: "mcp__odd__echo", given: { text: "tea" }, service: doubting },
    "an MCP tool without a hint": { tool: "mcp__odd__later", given: { text: "tea" }, service: trusting },
  } as const;
  type Kind = keyof typeof TOOLS;
  type Becomes = "runs" | "asks" | "refused";
  /** Before anybody has answered, after `allow_always`, and when the tool has changed since; each where somebody can be asked, and not. */
  type Row = readonly [before: [Becomes, Becomes], always: [Becomes, Becomes], changed: [Becomes, Becomes]];
  const RUNS: Row = [
    ["runs", "runs"],
    ["runs", "runs"],
    ["runs", "runs"],
  ];
  const ASKS: Row = [
    ["asks", "refused"],
    ["runs", "runs"],
    ["asks", "refused"],
  ];
  const DENIED: Row = [
    ["refused", "refused"],
    ["refused", "refused"],
    ["refused", "refused"],
  ];
  const TABLE: Readonly<Record<Kind, Readonly<Record<"none" | "allow" | "ask" | "deny", Row>>>> = {
    "a built-in tool that reads": { none: RUNS, allow: RUNS, ask: ASKS, deny: DENIED },
    "a tool that changes something": { none: ASKS, allow: RUNS, ask: ASKS, deny: DENIED },
    "an MCP tool with a trusted hint": { none: RUNS, allow: RUNS, ask: ASKS, deny: DENIED },
    "an MCP tool with a hint that nobody trusts": { none: ASKS, allow: RUNS, ask: ASKS, deny: DENIED },
    "an MCP tool without a hint": { none: ASKS, allow: RUNS, ask: ASKS, deny: DENIED },
  };
  const rows = Object.entries(TABLE).flatMap(([kind, byRule]) =>
    Object.entries(byRule).map(([rule, row]) => ({ kind: kind as Kind, rule, row })),
  );
  let agents = 0;
  beforeEach(() => void agents++);
  test.each(rows)("$kind runs, asks or is refused as the table says, with the rule $rule", async ({ kind, rule, row }) => {
    const { tool, given, service } = TOOLS[kind];
    const client = askingClient(service);
    const agent = `row-${agents}`;
    const withRule = (action: string) => client.makeAgent(agent, { permissions: action === "none" ? [] : [{ tool, action }] });
    client.follow([callOf(tool, given)], "Done.");

    async function outcome(interactive: boolean): Promise<Becomes> {
      const { events } = await client.ask(agent, { interactive });
      const last = events.at(-1)?.data;
      if (last?.status === "waiting") {
        expect(last.content.question).toMatchObject({ type: "permission", tool: { name: tool, arguments: given } });
        await client.answer(last.content, { answer: "deny" });
        expect(contentOf((await client.rest(last.content)).events, "tool_result").ok).toBe(false);
        return "asks";
      }
      return contentOf(events, "tool_result").ok ? "runs" : "refused";
    }
    const both = async (): Promise<Becomes[]> => [await outcome(true), await outcome(false)];

    await withRule(rule);
    const before = await both();
    await withRule("ask");
    const waiting = await client.untilWaiting(agent);
    await client.answer(waiting, { answer: "allow_always" });
    await client.rest(waiting);
    await withRule(rule);
    const always = await both();
    const [kept] = await database.query({
      text: "update permissions set digest = 'of the tool as it was' where agent = $1 returning tool",
      values: [agent],
    });
    expect(kept).toEqual({ tool });
    const changed = await both();
    expect([before, always, changed]).toEqual(row);
  });
});

describe("a waiting turn", () => {
  const database = useTestPostgres();
  const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
  let client: ReturnType<typeof askingClient>;
  beforeEach(() => {
    client = askingClient(opened);
    ordered.length = 0;
  });
  const tea = callOf("order", { item: "tea" });

  beforeEach(async () => {
    await client.makeAgent("asks");
    client.follow([tea], "Ordered.");
  });

  test("answers POST /api/v1/chat with 202 and the question, and the person's answer can be streamed at once", async () => {
    const body = { user_id: "ada", session_id: "whole", message: "Order tea.", agent: "asks" };
    const { status, json } = await postJson<Awaited<ReturnType<typeof client.untilWaiting>>>(`${opened.url}/api/v1/chat`, body);
    expect([status, json.question.type]).toEqual([202, "permission"]);
    const response = await fetch(`${opened.url}/api/v1/turns/${json.turn_id}/answers`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ question_id: json.question.id, answer: "allow_once" }),
    });
    const { events } = await readEvents(response);
    expect([tokenText(events), events.at(-1)?.data.status]).toEqual(["Ordered.", "done"]);
  });

  test("continues its event ids, so that a reader misses nothing and gets nothing twice", async () => {
    opened.model.answer(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { tokens: ["Tea ", "is ordered."] } : { tokens: ["One moment. "], toolCalls: [tea] },
    );
    const asked = await client.ask("asks");
    const waiting = contentOf(asked.events, "waiting");
    const lastId = asked.events.at(-1)?.id;
    await client.answer(waiting, { answer: "allow_once" });
    const rest = await client.rest(waiting, opened.url, lastId);
    expect(statuses(rest)).toEqual(["permission_replied", "tool_result", "token", "token", "done"]);
    expect(tokenText([...asked.events, ...rest.events])).toBe("One moment. Tea is ordered.");
    const again = await client.rest(waiting, opened.url, rest.events.at(2)?.id);
    expect(tokenText(again.events)).toBe("is ordered.");
  });

  test("is found again with its Idempotency-Key", async () => {
    const fields = { session_id: "keyed" };
    const headers = { "idempotency-key": "order-tea" };
    const first = await client.ask("asks", fields, { headers });
    const waiting = contentOf(first.events, "waiting");
    const { question, turn_id } = waiting;
    expect(contentOf((await client.ask("asks", fields, { headers })).events, "waiting")).toMatchObject({ question, turn_id });
    await client.answer(waiting, { answer: "allow_once" });
    await client.rest(waiting);
    expect(contentOf((await client.ask("asks", fields, { headers })).events, "done").answer).toBe("Ordered.");
    expect(ordered).toHaveLength(1);
  });

  test.each(["POST …/cancel", "cancel_waiting", "interrupt"])("ends by %s and frees its conversation", async (how) => {
    const waiting = await client.untilWaiting("asks", { session_id: how });
    if (how.startsWith("POST")) {
      const { json } = await postJson<{ cancelled: boolean }>(`${opened.url}/api/v1/turns/${waiting.turn_id}/cancel`, {});
      expect(json.cancelled).toBe(true);
    }
    client.follow("Hello.");
    const body = { user_id: "ada", session_id: how, message: "Hello.", agent: "assistant" };
    const next = await postTurn(opened.url, { ...body, ...(how.startsWith("POST") ? {} : { on_busy: how }) });
    expect(statuses(next).at(-1)).toBe("done");
    expect(await client.turn(waiting)).toMatchObject({ state: "failed", question: null, error: { code: "turn_cancelled" } });
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 410, code: "question_expired", says: /was ended/ });
    expect([ordered, await client.open()]).toEqual([[], []]);
  });

  test("leaves nothing of its question when its conversation or its user is erased", async () => {
    const [waiting, other] = [await client.untilWaiting("asks"), await client.untilWaiting("asks")];
    expect((await callApi(`${opened.url}/api/v1/conversations/${waiting.conversation_id}`, { method: "DELETE" })).status).toBe(200);
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 404, code: "not_found", says: /no question/ });
    await client.answer(other, { answer: "allow_always" });
    await client.rest(other);
    expect((await callApi(`${opened.url}/api/v1/users/ada`, { method: "DELETE" })).status).toBe(200);
    expect(await database.query({ text: "select 1 from questions" })).toEqual([]);
    expect(await database.query({ text: "select 1 from permissions" })).toEqual([]);
  });

  test.each<[string, object, RegExp]>([
    ["another option", { answer: "perhaps" }, /answer.*allow_once, allow_always, deny/],
    ["nothing", {}, /answer.*is missing/],
    ["several options", { answer: ["deny", "allow_once"] }, /takes one/],
    ["results", { answer: "deny", results: [] }, /results/],
    ["an unknown field", { answer: "deny", arguments: { item: "gold" } }, /arguments/],
  ])("refuses %s as an answer, and keeps waiting", async (_what, body, says) => {
    const waiting = await client.untilWaiting("asks");
    expectRefusal(await client.answer(waiting, body), { status: 400, code: "invalid_request", says });
    expect((await client.turn(waiting)).state).toBe("waiting");
    expect((await client.answer(waiting, { answer: "deny" })).status).toBe(201);
  });
});
