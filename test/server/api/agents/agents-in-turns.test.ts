import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useAgentService, calls } from "./agent-service.ts";

describe("agents of the system", () => {
  const AGENTS_DIR = mkdtempSync(path.join(tmpdir(), "agents-"));
  writeFileSync(
    path.join(AGENTS_DIR, "clerk.json"),
    JSON.stringify({ description: "Keeps the books", instructions: "You are of the file." }),
  );
  const { opened, follow, chats, ask } = useAgentService(
    { AGENTS_DIR },
    { extras: { agents: { coder: { description: "Writes code", instructions: "You are of the program." } } } },
  );
  interface Listed {
    name: string;
    tier: string;
    disabled: boolean;
    version: number | null;
  }
  const url = (name = "") => `${opened.url}/api/v1/agents${name && `/${name}`}`;
  const put = (name: string, body: object) => putJson<Listed>(url(name), body);
  const remove = (name: string) => callApi(url(name), { method: "DELETE" });
  const listed = async () =>
    (await callApi<{ agents: Listed[] }>(url())).json.agents.map(({ name, tier, disabled }) => [name, tier, disabled]);
  /** Which of them answers a turn that names it. */
  async function whoAnswers(name: string): Promise<string | undefined> {
    follow("Done.");
    await ask(name, "hello");
    return /You are of the (\w+)/.exec(chats().at(-1)?.body.messages[0]?.content ?? "")?.[1];
  }
  afterEach(async () => {
    for (const name of ["clerk", "coder"]) await remove(name);
  });

  test("come from files and from a program, and serve every tenant", async () => {
    expect(await listed()).toEqual([
      ["assistant", "system", false],
      ["clerk", "system", false],
      ["coder", "system", false],
    ]);
    expect([await whoAnswers("clerk"), await whoAnswers("coder")]).toEqual(["file", "program"]);
  });

  test("give way to a tenant's agent of the same name until that one is deleted", async () => {
    const made = await put("clerk", { description: "Ours", instructions: "You are of the tenant." });
    expect([made.status, made.json]).toMatchObject([201, { tier: "tenant", version: 1, disabled: false }]);
    expect(await whoAnswers("clerk")).toBe("tenant");
    expect((await remove("clerk")).status).toBe(200);
    expect(await whoAnswers("clerk")).toBe("file");
  });

  test("can be switched off for a tenant, then answer none of its turns, and can be switched on again", async () => {
    expect((await put("clerk", { disabled: true })).json).toMatchObject({ tier: "tenant", disabled: true });
    expect((await listed()).slice(1)).toEqual([
      ["clerk", "tenant", true],
      ["coder", "system", false],
    ]);
    const turn = { user_id: "ada", session_id: "off", message: "hello", agent: "clerk" };
    expectRefusal(await postJson(`${opened.url}/api/v1/chat`, turn), { status: 400, code: "invalid_request", field: "agent" });
    expect((await remove("clerk")).status).toBe(200);
    expect(await whoAnswers("clerk")).toBe("file");
  });

  test("cannot be deleted over HTTP, and the refusal says how to switch one off", async () => {
    const { status, json } = await remove("clerk");
    expect([status, json]).toMatchObject([
      404,
      { error: { code: "not_found", message: expect.stringContaining('{"disabled": true}') as unknown } },
    ]);
  });
});

describe("an agent with built-in tools", () => {
  const { opened, follow, makeAgent, ask } = useAgentService({ WEB_FETCH: "true" });

  test("saves and finds memories of its user, and shows its plan", async () => {
    await makeAgent("keeper", { tools: ["memory_*", "core_memory_update", "todo_write"] });
    const items = [{ content: "Remember", status: "in_progress" }];
    follow(
      [calls("todo_write", { items }, "a"), calls("memory_save", { content: "The boat is called Nautilus.", importance: 0.9 }, "b")],
      [calls("core_memory_update", { section: "goals", content: "Wants to sail round the world." }, "c")],
      "Kept.",
    );
    const { of, done } = await ask("keeper", "remember my boat");
    expect(of("plan")).toEqual([{ items }]);
    expect(of("tool_result").every(({ ok }) => ok)).toBe(true);
    await postJson(`${opened.url}/api/v1/conversations/${done?.conversation_id}/settle`, undefined);
    follow([calls("memory_search", { query: "What is the boat called?" })], "Nautilus.");
    const found = await ask("keeper", "What is my boat called?");
    expect(found.of("tool_result")[0]?.output).toContain("The boat is called Nautilus.");
    const { json } = await callApi<{ sections: { section: string; content: string; updated_by: string }[] }>(
      `${opened.url}/api/v1/users/ada/core-memory`,
    );
    expect(json.sections).toContainEqual(
      expect.objectContaining({ section: "goals", content: "Wants to sail round the world.", updated_by: "agent" }),
    );
  });

  test("finds messages of its own user by their words, and of no other user", async () => {
    await makeAgent("finder", { tools: ["conversation_search"] });
    const say = async (user_id: string, message: string): Promise<string> => {
      const body = { user_id, session_id: message, message };
      return (await postJson<{ conversation_id: string }>(`${opened.url}/api/v1/chat`, body)).json.conversation_id;
    };
    follow("Noted.");
    const said = [await say("ada", "My bicycle is green"), await say("ada", "我的自行车在车库里"), await say("bob", "My bicycle is red")];
    for (const id of said) await postJson(`${opened.url}/api/v1/conversations/${id}/settle`, undefined);
    const search = async (query: string) => {
      follow([calls("conversation_search", { query })], "Found.");
      return (await ask("finder", "What did I say?")).of("tool_result")[0]?.output ?? "";
    };
    const day = new Date().toISOString().slice(0, 10);
    expect(await search("bicycles green")).toBe(`[${day}, conversation ${said[0]}, user]\nMy bicycle is green`);
    expect(await search("bicycle")).not.toContain("red");
    expect(await search("自行车")).toContain("我的自行车在车库里");
    expect(await search("bicycle submarine")).toContain("No message has all these words");
  });

  test("cannot read a page of this machine", async () => {
    await makeAgent("reader", { tools: ["web_fetch"] });
    follow([calls("web_fetch", { url: `${opened.url}/healthz` })], "Not allowed.");
    const { of } = await ask("reader", "Read it.");
    expect(of("tool_result")[0]).toMatchObject({ ok: false, output: expect.stringContaining("address_refused") });
  });
});

describe("a turn with a thought and a call", () => {
  const { opened, makeAgent, ask } = useAgentService({ SUMMARY_MIN_MESSAGES: "2", SUMMARY_UPDATE_DELTA: "1", HISTORY_WINDOW: "0" });

  test("shows both in their order, and passes neither to the memory agent nor to the summary", async () => {
    await makeAgent("counter", { tools: ["calculate"] });
    opened.model.answer(({ model, messages }) => {
      if (model !== "test-chat") return { tokens: ["nothing"] };
      return messages.at(-1)?.role === "tool"
        ? { thoughts: ["a second thought"], tokens: ["It is ", "what was asked."] }
        : { thoughts: ["a first thought"], tokens: ["Let me count. "], toolCalls: [calls("calculate", { expression: "987654321*1" })] };
    });
    const { events, of, done } = await ask("counter", "How much is the question?");
    const order = ["thought", "token", "tool_call", "tool_result", "thought", "token", "token", "done"];
    expect(events.filter((status) => order.includes(status))).toEqual(order);
    expect(events.filter((status) => ["done", "error", "waiting"].includes(status))).toEqual(["done"]);
    expect(of("thought")).toEqual(["a first thought", "a second thought"]);
    await postJson(`${opened.url}/api/v1/conversations/${done?.conversation_id}/settle`, undefined);
    const read = opened.model.seen
      .filter(({ body: { model } }) => model === "test-memory")
      .map(({ body }) => JSON.stringify(body.messages));
    for (const purpose of [read.filter((text) => text.includes("core memory")), read.filter((text) => text.includes("summar"))]) {
      expect(purpose.length).toBeGreaterThan(0);
      expect(purpose.join()).toContain("How much is the question?");
    }
    expect(read.join()).toContain("what was asked.");
    expect(read.join()).not.toMatch(/987654321|thought/);
  });

  test("searches no knowledge base when its agent has none", async () => {
    await putJson(`${opened.url}/api/v1/knowledge/teas`, { description: "Teas of the house", keywords: ["tea"] });
    opened.model.answer(() => ({ tokens: ["nothing"] }));
    await makeAgent("without", { knowledge: null });
    await makeAgent("open", {});
    const [without] = (await ask("without", "Which tea is there?")).of("route_decision");
    const [open] = (await ask("open", "Which tea is there?")).of("route_decision");
    expect([without?.kb_prefix, open?.kb_prefix]).toEqual(["general", "teas"]);
  });
});

const LIMIT = 1_500;
describe("an agent's loop that alone exceeds the model's limit", () => {
  const { follow, makeAgent, ask } = useAgentService({ CONTEXT_TOKEN_BUDGET: `${LIMIT}` });

  test("gives notices that name this limit, and never shows a number below 0", async () => {
    await makeAgent("counting", { tools: ["calculate"] });
    follow("It is long.");
    await ask("counting", "tell me about the mountains ".repeat(60), "full-loop");
    follow([calls("calculate", { expression: `1${"+1".repeat(4_000)}` })], "Done.");
    const { of, done } = await ask("counting", "Count.", "full-loop");
    expect(done).toMatchObject({ answer: "Done." });
    const told = of("notice").filter(({ code }) => code === "context_trimmed");
    expect(told.length).toBeGreaterThan(0);
    for (const { message } of told) expect(message).toContain(`its limit of ${LIMIT} tokens`);
    expect(JSON.stringify([of("notice"), of("context_compressed")])).not.toMatch(/-\d/);
  });
});
