import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { listConversations, messagesOf } from "../../support/clients/api-client.ts";
import type { ModelServer } from "../../servers/model-server.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { LIBRECHAT_FUNCTIONS, LIBRECHAT_REQUESTS, OPEN_WEBUI, TITLE_REQUEST, type FrontEndRequest } from "./front-end-requests.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const ALL = [...OPEN_WEBUI, ...LIBRECHAT_REQUESTS].map((request) => [request.name, request] as const);
const CHAT = { "X-OpenWebUI-User-Id": "ada", "X-OpenWebUI-Chat-Id": "chat" };

type Body = FrontEndRequest["body"];
function ask(url: string, body: Body, headers: Record<string, string> = CHAT) {
  const { completions } = openClient(url, { headers }).chat;
  return completions.create({ model: MODEL, ...(body as unknown as { messages: ReturnType<typeof says>[] }) });
}

describe("a front end's own tasks with the offline model", () => {
  let service: TestService;
  let database: Database;
  beforeAll(async () => {
    const real = await createRealDatabase();
    database = await openPostgres(real.url);
    service = await openTestService({ DATABASE_URL: real.url, ENABLE_CORE_MEMORY: "true" });
  });
  afterAll(async () => {
    await service.close();
    await database.close();
  });

  test.each(ALL)("are answered in the form they want, and stay in no table: %s", async (_name, { body, offline }) => {
    const { choices, usage } = await ask(service.url, body);
    const content = choices[0]?.message.content ?? "";
    expect(typeof offline === "string" ? content : JSON.parse(content)).toEqual(offline);
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(usage?.total_tokens).toBeGreaterThan(0);
    expect(await listConversations(service.url, "ada")).toEqual([]);
    expect(await tablesHolding(database, "rnithopter")).toEqual({});
  });

  test("are streamed when that is wanted", async () => {
    const [title] = OPEN_WEBUI;
    const stream = openClient(service.url).chat.completions.stream({ model: MODEL, ...(title?.body as { messages: never[] }) });
    expect(JSON.parse((await stream.finalChatCompletion()).choices[0]?.message.content ?? "")).toEqual(title?.offline);
  });

  test("are answered by a call of the tool that must be called", async () => {
    const { choices } = await ask(service.url, LIBRECHAT_FUNCTIONS);
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: null, tool_calls: [{ type: "function" }] } });
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(call?.type === "function" && [call.function.name, JSON.parse(call.function.arguments)]).toEqual([
      "extract",
      { title: "Where is ornithopter bay on", language: "English" },
    ]);
  });

  test("are known by the hint of a header or of the metadata, whatever their words", async () => {
    const body = { messages: [says("Name this chat.\nUser: ornithopters at dawn\nAI: yes")] };
    const hinted = await ask(service.url, body, { ...CHAT, "X-Task": "title_generation" });
    expect(hinted.choices[0]?.message.content).toBe("ornithopters at dawn");
    await ask(service.url, { ...body, metadata: { task: "tags_generation" } });
    expect(await tablesHolding(database, "rnithopter")).toEqual({});
  });

  test("are no task in a chat that goes on, nor with a hint that was not filled in: then a person says them", async () => {
    const pasted = says(TITLE_REQUEST.messages[0]?.content ?? "");
    const answer = { role: "assistant", content: "hi" };
    const said: [chat: string, messages: Body["messages"], headers?: object][] = [
      ["pasted", [says("hello"), answer, pasted]],
      ["person", [says("### Task:\nWrite a poem")], { "X-Task": "{{TASK}}" }],
      ["begun", [pasted, answer, says("Thanks. And now?")]],
    ];
    for (const [chat, messages, headers] of said) {
      await ask(service.url, { messages }, { ...CHAT, "X-OpenWebUI-Chat-Id": chat, ...headers });
      const stored = await messagesOf(service.url, "ada", chat);
      expect(stored.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(stored[0]?.content).toBe(messages.at(-1)?.content);
    }
  });

  test("are for known models only", async () => {
    const body = { ...TITLE_REQUEST, model: "gpt-4o" };
    expect(await failureOf(ask(service.url, body))).toMatchObject({ status: 404, code: "model_not_found" });
  });
});

describe("a front end's own tasks with a model", () => {
  let service: ServiceWithModel;
  let model: ModelServer;
  beforeAll(async () => {
    service = await openServiceWithModel({ MODEL_FIRST_TOKEN_TIMEOUT_MS: "1000" });
    ({ model } = service);
  });
  afterAll(() => service.close());
  beforeEach(() => model.answer({ tokens: ['{ "title": ', '"Bay" }'] }));

  test("reach it word for word, and nothing of the service's memory with them", async () => {
    await ask(service.url, { messages: [says("I am the pilot")] });
    const { choices, usage } = await ask(service.url, TITLE_REQUEST);
    expect(choices[0]?.message.content).toBe('{ "title": "Bay" }');
    expect(usage).toEqual({ prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 });
    expect(model.seen.at(-1)?.body.messages).toEqual(OPEN_WEBUI[0]?.body.messages);
    expect(await messagesOf(service.url, "ada", "chat")).toHaveLength(2);
  });

  test("that want JSON get it, and the model is told so in words", async () => {
    const structured = LIBRECHAT_REQUESTS.find(({ name }) => name.endsWith("method structured"))?.body ?? { messages: [] };
    model.answer({ tokens: ['Here you are:\n```json\n{"title": "Bay", ', '"language": "English"}\n```'] });
    expect((await ask(service.url, structured)).choices[0]?.message.content).toBe('{"title":"Bay","language":"English"}');
    expect(model.seen.at(-1)?.body.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining('"required"') });
    model.answer({ tokens: ["Ornithopter Bay"] });
    const offline = '{"title":"Where is ornithopter bay on","language":"English"}';
    expect((await ask(service.url, structured)).choices[0]?.message.content).toBe(offline);
  });

  test("have the deadlines of every answer, and fail as errors", async () => {
    model.answer({ firstTokenMs: 30_000 });
    const failed = await failureOf(ask(service.url, TITLE_REQUEST));
    expect(failed).toMatchObject({ status: 503, code: "model_first_token_timeout" });
  });
});
