import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "@jest/globals";
import { freePort } from "../servers/free-port.ts";
import { startModelServer } from "../servers/model-server.ts";
import { contentOf, postTurn, type EventStreamResponse } from "../support/clients/event-client.ts";
import { waitUntil } from "../support/wait-until.ts";

// It starts a service and two MCP servers, on a busy machine, too.
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const README = await readFile(`${ROOT}examples/support-agent/README.md`, "utf8");
const { scripts } = JSON.parse(await readFile(`${ROOT}package.json`, "utf8")) as { scripts: Record<string, string> };

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** `npm run support-agent`, on a free port and with data of its own. */
async function startExample(environment: Record<string, string> = {}) {
  const [program, ...words] = (scripts["support-agent"] ?? "").split(" ");
  expect(program).toBe("node");
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-support-"));
  opened.push(() => rm(folder, { recursive: true, force: true }));
  const port = String(await freePort());
  const PATH = [path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter);
  const env = { PATH, PORT: port, DATA_DIR: folder, LOG_LEVEL: "warn", ...environment };
  const child = spawn(process.execPath, words, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  opened.push(async () => {
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await waitUntil("the example being ready", () => printed.includes("is ready") || child.exitCode !== null);
  expect(printed).toContain("The support agent is ready.");
  return { url: `http://127.0.0.1:${port}`, tickets: path.join(folder, "tickets") };
}

const statuses = ({ events }: EventStreamResponse): string[] =>
  events.map(({ data }) => data.status).filter((status) => status !== "token" && status !== "notice");

function results({ events }: EventStreamResponse) {
  return events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content] : []));
}

async function allow(url: string, asked: EventStreamResponse): Promise<EventStreamResponse> {
  const { turn_id: turn, question } = contentOf(asked.events, "waiting");
  const headers = { accept: "text/event-stream" };
  return postTurn(url, { question_id: question.id, answer: "allow_once" }, { path: `/api/v1/turns/${turn}/answers`, headers });
}

const [, message = ""] = /"message":"([^"]+)"/.exec(README) ?? [];
const [, chinese = ""] = /In Chinese: (.+)$/m.exec(README) ?? [];

describe("the support agent", () => {
  test("plans, loads its skill, looks the order up, asks before it writes, and quotes the handbook, with the offline model", async () => {
    const { url, tickets } = await startExample();
    const tell = async (user: string, said: string) => postTurn(url, { user_id: user, session_id: "monday", message: said });
    for (const [user, said, found, quoted] of [
      ["ada", message, "Desk lamp Calla", "A lamp that arrives broken is replaced free of charge"],
      ["chen", chinese, "Two bulbs E27", "订单在下一个工作日发出"],
    ] as const) {
      const asked = await tell(user, said);
      const call = ["tool_call", "tool_result"];
      expect(statuses(asked)).toEqual([
        ...["route_decision", "tool_call", "plan", "tool_result", ...call, ...call, "tool_call", "permission_asked", "waiting"],
      ]);
      expect(contentOf(asked.events, "route_decision").worker_name).toBe("agent:support");
      expect(results(asked).map(({ name, ok }) => [name, ok])).toEqual([
        ["todo_write", true],
        ["load_skill", true],
        ["mcp__orders__search_nodes", true],
      ]);
      expect(results(asked)[2]?.output).toContain(found);
      const rest = await allow(url, asked);
      expect(statuses(rest)).toEqual(["permission_replied", "tool_result", "tool_call", "plan", "tool_result", "done"]);
      const plan = contentOf(rest.events, "plan").items;
      expect(plan.map(({ status }) => status)).toEqual(["completed", "completed"]);
      const { answer, tool_calls, agent } = contentOf(rest.events, "done");
      expect({ tool_calls, agent }).toEqual({ tool_calls: 5, agent: "support" });
      for (const part of [found, quoted, "[1]"]) expect(answer).toContain(part);
    }
    expect((await readdir(tickets)).sort()).toEqual(["A-1042.md", "A-1043.md"]);
    expect(await readFile(path.join(tickets, "A-1043.md"), "utf8")).toBe(chinese);
  });

  test("shows the same events with a model that calls tools, and gives its server no limits of lengths in the tools", async () => {
    const model = await startModelServer();
    opened.push(() => model.close());
    const { url, tickets } = await startExample({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "scripted", EMBEDDING_MODEL: "built-in" });
    const items = [{ content: "Open a ticket", status: "in_progress" }];
    const script = [
      { toolCalls: [{ name: "todo_write", arguments: { items } }] },
      { toolCalls: [{ name: "load_skill", arguments: { name: "handle-a-complaint" } }] },
      { toolCalls: [{ name: "mcp__orders__search_nodes", arguments: { query: "A-1042" } }] },
      { toolCalls: [{ name: "mcp__tickets__write_file", arguments: { path: "A-1042.md", content: "Lamp broken" } }] },
      { tokens: ["Sorry. ", "A new lamp comes [1]."] },
    ];
    model.answer(({ messages, tools }) =>
      tools ? (script[messages.filter(({ role }) => role === "tool").length] ?? {}) : { tokens: ["-"] },
    );
    const asked = await postTurn(url, { user_id: "ada", session_id: "monday", message, agent: "support" });
    const rest = await allow(url, asked);
    const seen = new Set([...statuses(asked), ...statuses(rest)]);
    expect([...seen]).toEqual(expect.arrayContaining(["plan", "tool_call", "tool_result", "permission_asked", "waiting", "done"]));
    expect(contentOf(rest.events, "done").answer).toBe("Sorry. A new lamp comes [1].");
    expect(await readFile(path.join(tickets, "A-1042.md"), "utf8")).toBe("Lamp broken");
    const { tools = [] } = model.seen.find(({ body }) => body.tools)?.body ?? {};
    expect(tools.map(({ function: { name } }) => name)).toEqual(expect.arrayContaining(["knowledge_search", "mcp__tickets__write_file"]));
    expect(JSON.stringify(tools)).not.toMatch(/"(?:min|max)(?:Length|Items)":/); // llama.cpp refuses a request with long ones
  });

  test("has a README of at most 60 lines that names its parts", async () => {
    expect(README.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
    for (const part of await readdir(`${ROOT}examples/support-agent`)) expect(`${README} README.md`).toContain(part);
  });
});
