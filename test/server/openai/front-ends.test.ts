import { describe, expect, test, beforeEach } from "@jest/globals";
import { listConversations, postJson, messagesOf } from "../../support/clients/api-client.ts";
import { useTestService, openTestService } from "../../support/services/service.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";
import { detectTaskByWording } from "../../../server/openai/front-end-task.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { LIBRECHAT_FUNCTIONS, LIBRECHAT_REQUESTS, OPEN_WEBUI, TITLE_REQUEST, type FrontEndRequest } from "./front-end-requests.ts";
import { useOpened } from "../../support/use-opened.ts";

const KEY = bearer("key-of-acme");
describe("the user and the chat of a request", () => {
  const service = useTestService({ API_KEYS: "key-of-acme:acme", JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });

  async function ask(headers: Record<string, string>, fields: object = {}, apiKey = "key-of-acme"): Promise<void> {
    await openClient(service.url, { apiKey, headers }).chat.completions.create({ model: MODEL, messages: [says("hello")], ...fields });
  }
  const sessionsOf = async (user: string): Promise<string[]> =>
    (await listConversations(service.url, user, KEY)).map(({ session_id }) => session_id);

  const webui = (id: object, chat: string) => ({ ...id, "X-OpenWebUI-Chat-Id": chat });
  const libre = (user: string, chat: string) => ({ "X-User-Id": user, "X-Conversation-Id": chat });
  test.each<[what: string, headers: Record<string, string>, fields: object, user: string, session: string]>([
    ["Open WebUI", webui({ "X-OpenWebUI-User-Id": "w-1", "X-OpenWebUI-User-Email": "1@example.org" }, "chat-1"), {}, "w-1", "chat-1"],
    ["Open WebUI's address alone", webui({ "X-OpenWebUI-User-Email": "2@example.org" }, "chat-2"), {}, "2@example.org", "chat-2"],
    ["LibreChat", libre("libre-1", "convo-1"), {}, "libre-1", "convo-1"],
    ["LibreChat, which also sends the user in the body", libre("libre-2", "convo-2"), { user: "x" }, "libre-2", "convo-2"],
    ["a client of one's own", { "X-Session-Id": "s-1", "X-OpenWebUI-Chat-Id": "other" }, { user: "own-1" }, "own-1", "s-1"],
    ["a client with session_id in its metadata", {}, { user: "own-2", metadata: { session_id: "m-1" } }, "own-2", "m-1"],
    ["a client with chat_id in its metadata", {}, { user: "own-3", metadata: { chat_id: "m-2" } }, "own-3", "m-2"],
    [
      "a client with unresolved placeholders",
      { "X-User-Id": "{{LIBRECHAT_USER_ID}}", "X-Session-Id": "s-2" },
      { user: "own-4" },
      "own-4",
      "s-2",
    ],
    ["a client with UTF-8 in its headers", { "X-Session-Id": Buffer.from("聊天").toString("latin1") }, { user: "李雷" }, "李雷", "聊天"],
  ])("are found in the request of %s", async (_what, headers, fields, user, session) => {
    await ask(headers, fields);
    expect(await sessionsOf(user)).toEqual([session]);
  });

  test("belong to the caller's own tenant, and a user must be named", async () => {
    expect(await failureOf(ask({ "X-Session-Id": "s" }))).toMatchObject({ status: 400, param: "user" });
    expect(await failureOf(ask({ "X-User-Id": "x".repeat(201) }))).toMatchObject({ status: 400, param: "X-User-Id" });
    expect(await failureOf(ask({ "X-Session-Id": "x".repeat(201) }, { user: "a" }))).toMatchObject({ status: 400, param: "X-Session-Id" });
  });

  test("belong to the token's user, and a front end cannot name another one", async () => {
    const token = secretToken({ sub: "tess", tenant: "acme" });
    await ask({ "X-Session-Id": "t-1" }, {}, token);
    await ask({ "X-Session-Id": "t-2", "X-User-Id": "tess" }, { user: "tess" }, token);
    expect((await sessionsOf("tess")).sort()).toEqual(["t-1", "t-2"]);
    for (const [headers, fields] of [
      [{ "X-OpenWebUI-User-Id": "w-1" }, {}],
      [{ "X-User-Email": "1@example.org" }, {}],
      [{}, { user: "libre-1" }],
      [{ "X-User-Id": "tess" }, { user: "libre-1" }],
    ] as [Record<string, string>, object][]) {
      expect(await failureOf(ask(headers, fields, token))).toMatchObject({ status: 403, type: "permission_error" });
    }
  });

  test("are told apart by the first message when a client names no chat", async () => {
    const chat = (...messages: object[]) => ask({}, { user: "unnamed", messages });
    const answer = { role: "assistant", content: "…" };
    await chat({ role: "system", content: "It is Monday" }, says("cookies?"));
    await chat({ role: "system", content: "It is Tuesday" }, says("cookies?"), answer, says("more butter?"));
    await chat(says("planes?"));
    const listed = await listConversations(service.url, "unnamed", KEY);
    expect(listed.map(({ message_count }) => message_count).sort()).toEqual([2, 4]);
    expect(listed.every(({ session_id }) => /^chat-[\w-]{43}$/.test(session_id))).toBe(true);
  });

  test("are read from headers only here, and /api/v1 reads user_id only", async () => {
    const headers = { ...KEY, "X-User-Id": "libre-1" };
    expect((await postJson(`${service.url}/api/v1/chat`, { session_id: "s", message: "x" }, headers)).status).toBe(400);
  });
});

const ALL = [...OPEN_WEBUI, ...LIBRECHAT_REQUESTS].map((request) => [request.name, request] as const);
const CHAT = { "X-OpenWebUI-User-Id": "ada", "X-OpenWebUI-Chat-Id": "chat" };
type Body = FrontEndRequest["body"];
function ask(url: string, body: Body, headers: Record<string, string> = CHAT) {
  const { completions } = openClient(url, { headers }).chat;
  return completions.create({ model: MODEL, ...(body as unknown as { messages: ReturnType<typeof says>[] }) });
}
describe("a front end's own tasks with the offline model", () => {
  const database = useTestPostgres();
  const service = useOpened(() => openTestService({ DATABASE_URL: database.url, ENABLE_CORE_MEMORY: "true" }));

  test.each(ALL)("are answered in the form that they want, and are stored in no table: %s", async (_name, { body, offline }) => {
    const { choices, usage } = await ask(service.url, body);
    const content = choices[0]?.message.content ?? "";
    expect(typeof offline === "string" ? content : JSON.parse(content)).toEqual(offline);
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(usage?.total_tokens).toBeGreaterThan(0);
    expect(await listConversations(service.url, "ada")).toEqual([]);
    expect(await tablesHolding(database, "rnithopter")).toEqual({});
  });

  test("are streamed on request", async () => {
    const [title] = OPEN_WEBUI;
    const stream = openClient(service.url).chat.completions.stream({ model: MODEL, ...(title?.body as { messages: never[] }) });
    expect(JSON.parse((await stream.finalChatCompletion()).choices[0]?.message.content ?? "")).toEqual(title?.offline);
  });

  test("are answered by a call of the tool that they demand", async () => {
    const { choices } = await ask(service.url, LIBRECHAT_FUNCTIONS);
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: null, tool_calls: [{ type: "function" }] } });
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(call?.type === "function" && [call.function.name, JSON.parse(call.function.arguments)]).toEqual([
      "extract",
      { title: "Where is ornithopter bay on", language: "English" },
    ]);
  });

  test("are recognised by a hint in a header or in the metadata, whatever their words", async () => {
    const body = { messages: [says("Name this chat.\nUser: ornithopters at dawn\nAI: yes")] };
    const hinted = await ask(service.url, body, { ...CHAT, "X-Task": "title_generation" });
    expect(hinted.choices[0]?.message.content).toBe("ornithopters at dawn");
    await ask(service.url, { ...body, metadata: { task: "tags_generation" } });
    expect(await tablesHolding(database, "rnithopter")).toEqual({});
  });

  test("count as a person's messages in a chat that goes on, or with a hint that was not filled in", async () => {
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

  test("are refused for an unknown model", async () => {
    const body = { ...TITLE_REQUEST, model: "gpt-4o" };
    expect(await failureOf(ask(service.url, body))).toMatchObject({ status: 404, code: "model_not_found" });
  });
});
describe("a front end's own tasks with a model", () => {
  const service = useServiceWithModel({ MODEL_FIRST_TOKEN_TIMEOUT_MS: "1000" });
  beforeEach(() => service.model.answer({ tokens: ['{ "title": ', '"Bay" }'] }));

  test("reach the model word for word, with nothing of the service's memory", async () => {
    await ask(service.url, { messages: [says("I am the pilot")] });
    const { choices, usage } = await ask(service.url, TITLE_REQUEST);
    expect(choices[0]?.message.content).toBe('{ "title": "Bay" }');
    expect(usage).toEqual({ prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 });
    expect(service.model.seen.at(-1)?.body.messages).toEqual(OPEN_WEBUI[0]?.body.messages);
    expect(await messagesOf(service.url, "ada", "chat")).toHaveLength(2);
  });

  test("get JSON when they want it, and the model is told this in words", async () => {
    const structured = LIBRECHAT_REQUESTS.find(({ name }) => name.endsWith("method structured"))?.body ?? { messages: [] };
    service.model.answer({ tokens: ['Here you are:\n```json\n{"title": "Bay", ', '"language": "English"}\n```'] });
    expect((await ask(service.url, structured)).choices[0]?.message.content).toBe('{"title":"Bay","language":"English"}');
    expect(service.model.seen.at(-1)?.body.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining('"required"') });
    service.model.answer({ tokens: ["Ornithopter Bay"] });
    const offline = '{"title":"Where is ornithopter bay on","language":"English"}';
    expect((await ask(service.url, structured)).choices[0]?.message.content).toBe(offline);
  });

  test("have the time limits of every answer, and fail as errors", async () => {
    service.model.answer({ firstTokenMs: 30_000 });
    const failed = await failureOf(ask(service.url, TITLE_REQUEST));
    expect(failed).toMatchObject({ status: 503, code: "model_first_token_timeout" });
  });
});
describe("the wording of a front end's task", () => {
  const TITLE = TITLE_REQUEST.messages[0]?.content ?? "";
  const PEOPLE: [what: string, text: string][] = [
    ["a question about a title", "Generate a concise title for my essay on ornithopters"],
    ["a heading of their own", "### Task:\nWrite a poem about the sea.\n### Output:\nFour lines."],
    ["a heading with JSON", '### Task:\nName my cat.\n### Output:\nJSON format: { "title": "…" }'],
    ["a task in the middle of a sentence", `Open WebUI sends this, what does it mean?\n${TITLE}`],
    ["a task with a question behind it", `${TITLE}\n\nWhat does this prompt do?`],
    ["a chat between tags", "Summarise:\n<chat_history>\nUSER: hi\n</chat_history>"],
    ["the first words only", "### Task:\nYou are an autocompletion system. Is that true?"],
    ["emoji wanted", "Which emoji fits the facial expression of a tired person?"],
    ["LibreChat's first words", "Provide a concise, 5-word-or-less title for the conversation, using only verbs."],
    ["nothing", ""],
    [
      "Open WebUI's wrapping of a question with documents",
      '### Task:\nRespond to the user query using the provided context, …\n\n### Output:\nProvide a clear and direct response …\n\n<context>\n<source id="1">about <chat_history> tags</source>\n</context>\n\nWhat is in there?',
    ],
  ];
  test.each(PEOPLE)("is not found in a person's message: %s", (_what, text) => expect(detectTaskByWording(text)).toBeNull());

  test("is found with Windows line ends and white space around it", () => {
    expect(detectTaskByWording(`  ${TITLE.replaceAll("\n", "\r\n")}\r\n`)).toBe("title");
  });

  test("is found in a changed template of any purpose that keeps the frame", () => {
    expect(detectTaskByWording("### Task:\nRate this chat.\n### Output:\nA number.\n<chat_history>\nUSER: hi\n</chat_history>")).toBe(
      "other",
    );
  });
});
