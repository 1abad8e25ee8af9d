import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, test, afterEach } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson, type ApiResponse, type ErrorBody } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { MODEL, openClient, says } from "./open-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { LIBRECHAT_REQUESTS, TITLE_REQUEST } from "./front-end-requests.ts";
import { bearer } from "../../servers/token-issuer.ts";

interface Recorded {
  story: string;
  chat: string;
  /** The first of 36. */
  tools?: never[];
  messages: never[];
}
/** What Open WebUI 0.12.4 sent while a person used it in a browser, shortened only where it repeats itself. */
const RECORDED = readFileSync(new URL("open-webui-requests.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);
describe("in the requests of Open WebUI,", () => {
  const database = useTestPostgres();
  const memory = { ENABLE_CORE_MEMORY: "true", ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in" };
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, ...memory }));
  beforeEach(() => running.model.answer({ tokens: ["at ", "seven"] }));

  async function replay(story: string, user: string) {
    const found = RECORDED.find((recorded) => recorded.story === story);
    if (!found) throw new Error(`nothing recorded is called ${story}`);
    const headers = { "X-OpenWebUI-User-Id": user, "X-OpenWebUI-Chat-Id": found.chat };
    const { messages, tools } = found;
    const asked = openClient(running.url, { headers }).chat.completions.stream({ model: MODEL, messages, ...(tools ? { tools } : {}) });
    const { choices, id } = await asked.finalChatCompletion();
    return { choice: choices[0], turnId: id.slice("chatcmpl-".length, "chatcmpl-".length + 36), bodies: running.model.seen };
  }
  const lastPrompt = () =>
    running.model.seen.findLast(({ body }) => body.tools?.[0]?.function.name === "get_current_timestamp")?.body.messages;
  const settle = async (user: string) => {
    for (const { id } of await listConversations(running.url, user)) await conversationApi(running.url).settle(id);
  };

  test("a file is shown to the model and named in the receipt, but is in no table, title, summary, episode or memory", async () => {
    const { turnId } = await replay("a file is attached", "ada");
    expect(lastPrompt()?.at(-1)?.content).toMatch(/\[note\.txt\]\n> The .* opens at seven on Sundays\.\n<\/attachments>\n\nWhen does the/);
    const { json } = await callApi<{ receipt: object }>(`${running.url}/api/v1/turns/${turnId}`);
    expect(json.receipt).toMatchObject({ attachments: [{ name: "note.txt" }] });
    // The front end sends a chat's files again with each message.
    await replay("the next message of that chat", "ada");
    expect(
      lastPrompt()
        ?.slice(1)
        .map(({ content }) => content),
    ).toEqual(["When does the lighthouse-canary open?", "at seven", expect.stringMatching(/on Sundays\.\n<\/attachments>\n\nThank you$/)]);
    await settle("ada");
    expect(await listConversations(running.url, "ada")).toMatchObject([
      { first_message: "When does the lighthouse-canary open?", message_count: 4 },
    ]);
    expect(await tablesHolding(database, "Sundays")).toEqual({});
    const others = running.model.seen.filter(({ body }) => body.tools?.[0]?.function.name !== "get_current_timestamp");
    expect(others.length).toBeGreaterThan(0);
    expect(JSON.stringify(others)).not.toContain("Sundays");
  });

  test('the result of a tool continues its turn, and "Continue Response" continues its answer', async () => {
    const recorded = RECORDED.find(({ story }) => story === "Continue Response behind a tool")?.messages.at(-1);
    const answer = (recorded as { content: string } | undefined)?.content ?? "";
    running.model.answer(({ messages }) => {
      const { role } = messages.at(-1) ?? {};
      if (role === "user") return { toolCalls: [{ name: "get_current_timestamp", id: "call_913c2c16", arguments: {} }] };
      return { tokens: [role === "tool" ? answer : " It is nine."] };
    });
    expect((await replay("a tool may be called", "bob")).choice).toMatchObject({ finish_reason: "tool_calls" });
    const { choice } = await replay("the result of a tool", "bob");
    expect(choice).toMatchObject({ finish_reason: "stop", message: { content: answer } });
    expect(lastPrompt()?.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining("2026-11-25T09:07:00") });
    const continued = await replay("Continue Response behind a tool", "bob");
    expect(continued.choice).toMatchObject({ finish_reason: "stop", message: { content: " It is nine." } });
    expect((await messagesOf(running.url, "bob", "6a0e5f33")).map(({ content }) => content)).toEqual([
      "What time is it?",
      `${answer} It is nine.`,
    ]);
  });

  test("a temporary chat uses memory and its own earlier messages, and stores nothing", async () => {
    await replay("a temporary chat", "eve");
    running.model.answer({ tokens: ["as ", "you ", "say"] });
    expect((await replay("the next message of a temporary chat", "eve")).choice?.message.content).toBe("as you say");
    expect(lastPrompt()?.slice(1)).toMatchObject([
      { role: "user", content: expect.stringMatching(/> User: A secret: I like durian\n> Assistant: hush\n<\/attachments>\n\nAnd more$/) },
    ]);
    expect(await listConversations(running.url, "eve")).toEqual([]);
    expect(await tablesHolding(database, "durian")).toEqual({});
  });

  test("a request for follow-up questions is not stored as a message", async () => {
    await replay("follow-ups", "sam");
    expect(await listConversations(running.url, "sam")).toEqual([]);
  });
});

const TITLE = { "x-task": "title_generation" };
type Sent = { messages: { role: string; content: string }[]; [field: string]: unknown };
describe("for a front end's own tasks,", () => {
  const model = useOpened(() => startModelServer());
  let service: TestService | undefined;
  beforeEach(() => {
    model.seen.length = 0;
    model.answer({ tokens: ["A title"] });
  });
  afterEach(() => service?.close());

  async function open(environment: Record<string, string> = {}): Promise<void> {
    service = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ...environment });
  }
  const send = (body: Sent, headers: Record<string, string> = TITLE): Promise<ApiResponse<ErrorBody>> =>
    postJson(`${service?.url}/v1/chat/completions`, { model: MODEL, ...body }, headers);
  const name = (fields: object = {}, headers = TITLE) => send({ messages: [says("Name this chat.")], ...fields }, headers);
  const asked = (count: number): Promise<unknown> => waitUntil(`${count} tasks at the model`, () => model.seen.length === count);
  const stored = (user: string, session: string) => messagesOf(service?.url ?? "", user, session);

  /** A task whose model says nothing, and whose client leaves. */
  async function leave(text: string): Promise<void> {
    model.answer({ ending: "hang", tokens: [] });
    const leaving = new AbortController();
    const body = JSON.stringify({ model: MODEL, messages: [says(text)] });
    const headers = { ...TITLE, "content-type": "application/json" };
    const left = fetch(`${service?.url}/v1/chat/completions`, { method: "POST", headers, body, signal: leaving.signal });
    const before = model.seen.length;
    await asked(before + 1);
    leaving.abort();
    await left.catch(() => undefined);
    await waitUntil("the model's connection to close", () => model.seen[before]?.aborted);
    model.answer({ tokens: ["A title"] });
  }

  test("a request with an unknown X-Task is limited as a turn, unless it is worded like a task", async () => {
    await open({ MAX_MESSAGE_CHARS: "2000" });
    expect((await send({ messages: [says("hello")], user: "ada" }, { "x-task": "whatever", "x-session-id": "s" })).status).toBe(200);
    expect((await stored("ada", "s")).map(({ content }) => content)).toEqual(["hello", "A title"]);
    const metadata = { task: "constructor", session_id: "by metadata" };
    expect((await send({ messages: [says("hello")], user: "ada", metadata }, {})).status).toBe(200);
    expect(await stored("ada", "by metadata")).toHaveLength(2);
    const { status, json } = await send({ messages: [says("y".repeat(2_001))] }, { "x-task": "whatever" });
    expect({ status, code: json.error.code }).toEqual({ status: 413, code: "message_too_long" });
    await send(TITLE_REQUEST, { "x-task": "a_task_of_next_year", "x-session-id": "s" });
    expect(await stored("default", "s")).toEqual([]);
  });

  test("a task with more characters than a message may have is refused before the model is asked", async () => {
    await open({ MAX_MESSAGE_CHARS: "2000" });
    const structured = LIBRECHAT_REQUESTS.find(({ name: found }) => found.endsWith("method structured"))?.body;
    const schema = { type: "object", properties: { title: { type: "string", description: "y".repeat(2_000) } } };
    for (const body of [
      { messages: [says("y".repeat(2_001))] },
      { messages: [says("\u{1F600}".repeat(2_001))] },
      { messages: Array.from({ length: 3 }, () => says("y".repeat(700))) },
      { messages: [{ role: "system", content: "y".repeat(2_000) }, says("y")] },
      { ...structured, messages: [says("y")], response_format: { type: "json_schema", json_schema: { name: "title", schema } } },
    ]) {
      const { status, json } = await send(body);
      expect({ status, error: json.error }).toMatchObject({ status: 413, error: { code: "message_too_long", param: "messages" } });
      expect(json.error.message).toMatch(/at most 2000.*MAX_MESSAGE_CHARS/);
    }
    expect(model.seen).toEqual([]);
    expect((await send({ messages: [says("\u{1F600}".repeat(2_000))] })).status).toBe(200);
  });

  test("a user's tasks at the same time have their own limit, apart from turns and from other users", async () => {
    await open({ MAX_CONCURRENT_TASKS_PER_USER: "2", MAX_CONCURRENT_TURNS_PER_USER: "1" });
    const { promise, resolve } = Promise.withResolvers<void>();
    model.answer({ tokens: ["A title"], until: promise });
    const running = [name({ user: "ada" }), name({ user: "ada" })];
    await asked(2);
    const refused = await name({ user: "ada" });
    const message = expect.stringMatching(/2 .*MAX_CONCURRENT_TASKS_PER_USER/);
    expect(refused).toMatchObject({ status: 429, json: { error: { code: "too_many_turns", message } } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    running.push(name({ user: "bea" }), send({ messages: [says("hello")], user: "ada" }, {}));
    await asked(4);
    resolve();
    for (const { status } of await Promise.all(running)) expect(status).toBe(200);
    expect((await name({ user: "ada" })).status).toBe(200);
  });

  test("a tenant may have as many tasks at the same time as turns, whatever users it names", async () => {
    await open({ API_KEYS: "acme-key-1:acme,other-key-1:other", MAX_CONCURRENT_TURNS_PER_TENANT: "2" });
    const { promise, resolve } = Promise.withResolvers<void>();
    model.answer({ tokens: ["A title"], until: promise });
    const as = (user: string) => name({ user }, { ...TITLE, ...bearer("acme-key-1") });
    const running = [as("ada"), as("bea")];
    await asked(2);
    expect((await as("cleo")).json.error.message).toContain("MAX_CONCURRENT_TURNS_PER_TENANT");
    resolve();
    for (const { status } of await Promise.all(running)) expect(status).toBe(200);
  });

  test("a task gives its place back when it fails or its client leaves", async () => {
    await open({ MAX_CONCURRENT_TASKS_PER_USER: "1" });
    model.answer({ status: 400 });
    for (let index = 0; index < 3; index++) expect((await name()).status).toBe(422);
    await leave("Name this chat.");
    await waitUntil("a place for the next task", async () => (await name()).status === 200);
  });

  test.each<[what: string, spend: () => Promise<unknown>]>([
    ["that ends", () => name()],
    ["whose client leaves before the first token", () => leave("Name this chat. ".repeat(100))],
  ])("a task %s counts for the tokens of the day", async (_what, spend) => {
    await open({ TOKENS_PER_DAY: "100" });
    await spend();
    expect((await name()).json.error).toMatchObject({ code: "insufficient_quota" });
  });
});
