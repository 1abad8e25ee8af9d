import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, expect, test } from "@jest/globals";
import { contentOf } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";

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

test.each(rows)("$kind, rule $rule: as the table says", async ({ kind, rule, row }) => {
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
