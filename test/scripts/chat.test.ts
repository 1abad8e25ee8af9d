import { describe, expect, test } from "@jest/globals";
import { OFFLINE_REMARK } from "../../server/service/offline-remark.ts";
import type { ModelScript } from "../servers/model-server.ts";
import { listConversations, putJson } from "../support/clients/api-client.ts";
import { runScript } from "../support/run-script.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../support/services/asking-agent.ts";
import { useServiceWithModel } from "../support/services/service-with-model.ts";
import { useTestService } from "../support/services/service.ts";

describe("npm run chat", () => {
  const service = useTestService({ ENABLE_CORE_MEMORY: "true" });

  const chat = async (lines: string, url = service.url): Promise<string> => {
    const { code, stdout } = await runScript("chat", ["--url", url, "--user", "ada"], {}, lines);
    expect(code).toBe(0);
    return stdout;
  };

  test("answers every line of a pipe in one conversation", async () => {
    const printed = await chat("My name is Ada and I live in Lisbon.\nWhere do I live?\n我住在哪里？\n");
    expect(printed).toContain('You said earlier: "My name is Ada and I live in Lisbon."');
    expect(printed).toMatch(/你之前说过|关于你，我知道/); // the fact may have been learnt by then
    expect(printed.split(OFFLINE_REMARK)).toHaveLength(2);
    const { json } = await service.get("/api/v1/conversations?user_id=ada");
    expect(json).toMatchObject({ conversations: [{ message_count: 6 }] });
  });

  test("shows what is remembered, begins another conversation, shows its help, and ends", async () => {
    await chat("I like tea.\n");
    const printed = await chat("/new\nhello\n/nonsense\n/help\n/quit\nnever sent\n");
    expect(printed).toMatch(/Session terminal-\d{4}-.*This is the offline model\..*There is no command \/nonsense\..*\/memory/s);
    expect((await listConversations(service.url, "ada")).map(({ message_count }) => message_count)).toEqual([2, 8]);
    expect((await runScript("chat", ["--url", service.url, "--user", "nobody"], {}, "/memory\n")).stdout).toContain("Nothing is known");
    await putJson(`${service.url}/api/v1/users/ada/core-memory/profile`, { content: "Lives in Porto." });
    expect(await chat("/memory\n")).toContain("[profile]\nLives in Porto.");
  });

  test("knows in the next conversation what was said a moment ago", async () => {
    const { stdout } = await runScript(
      "chat",
      ["--url", service.url, "--user", "eva"],
      {},
      "I live in Lisbon.\n/memory\nI moved to Porto.\n/new\nWhere do I live now?\n",
    );
    expect(stdout).toMatch(/\[profile\]\nLives in Lisbon\..*What I know about you: "Lives in Porto\."/s);
  });

  test("shows a refusal with its code, and says how to start a service that does not run", async () => {
    expect(await chat(`${"x".repeat(40_000)}\n`)).toContain("[message_too_long: message: has 40000 characters");
    expect(await chat("hello\n", "http://127.0.0.1:9")).toContain("Start the service with npm start");
  });
});

describe("npm run chat with an agent that asks", () => {
  const asking = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });

  /** One message, and the lines that answer. Words of the agent lead to it. */
  async function chat(message: string, ...replies: string[]): Promise<string> {
    ordered.length = 0;
    const client = askingClient(asking);
    await client.makeAgent("clerk", { keywords: ["order", "订"] });
    client.follow([callOf("order", { item: "tea" })], "Ordered.");
    const lines = [message, ...replies].map((line) => `${line}\n`).join("");
    const { code, stdout } = await runScript("chat", ["--url", asking.url, "--user", "ada", "--session", message], {}, lines);
    expect(code).toBe(0);
    expect(await client.open()).toEqual([]);
    return stdout;
  }

  test.each([
    ["Please order tea", "yes", /"clerk" call "order".*"item": "tea".*1\. allow this call.*\? .*Ordered\./s, 1],
    ["Please order more tea", "what does it cost?", /\? .*Ordered\./s, 0],
    ["请订茶", "允许", /“clerk”想.*“order”.*1\. 允许这一次.*Ordered\./s, 1],
    ["请再订茶", "3", /Ordered\./, 0],
  ])("asks the question of %s, and goes on with the reply %s", async (message, reply, shows, calls) => {
    const printed = await chat(message, reply);
    expect(printed).toMatch(shows);
    expect(ordered).toHaveLength(calls);
  });

  test("names the member that calls a tool and asks, and says to whom the turn is handed over", async () => {
    const client = askingClient(asking);
    await client.makeAgent("clerk", { instructions: "You are the clerk." });
    await client.makeAgent("host", { instructions: "You are the host." });
    await client.makeAgent("chief", { instructions: "You are the chief.", keywords: ["dinner"], subagents: ["clerk"], handoffs: ["host"] });
    const script: Record<string, ModelScript[]> = {
      chief: [
        { toolCalls: [callOf("ask_agent", { agent: "clerk", task: "Order tea." })] },
        { toolCalls: [callOf("handoff_to", { agent: "host", reason: "Guests come." })] },
      ],
      clerk: [{ toolCalls: [callOf("order", { item: "tea" })] }, { tokens: ["Ordered."] }],
      host: [{ tokens: ["Welcome."] }],
    };
    asking.model.answer(({ messages }) => {
      const [, agent = ""] = /You are the (\w+)\./.exec(JSON.stringify(messages)) ?? [];
      const rounds = messages.filter(({ role }) => role === "assistant").length;
      return script[agent]?.[rounds] ?? script[agent]?.at(-1) ?? {};
    });
    const { stdout } = await runScript("chat", ["--url", asking.url, "--user", "eve"], {}, "Dinner please\nyes\n");
    expect(stdout).toMatch(
      /\[clerk: order \{"item":"tea"\}\].*\[chief › clerk asks\]\n.*"clerk" call "order".*\[chief hands over to host: Guests come\.\].*Welcome\./s,
    );
  });

  test("ends the turn when nobody answers the question", async () => {
    expect(await chat("Please order tea at last")).toContain("[stopped]");
    expect(ordered).toEqual([]);
  });
});
