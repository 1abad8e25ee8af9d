import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { OPERATIONS } from "../../../server/openapi/operations.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { makeDescribedClient, type DescribedClient, type DescribedRequest } from "../../support/clients/described-call.ts";
import { askForPicture } from "../../support/clients/described-picture.ts";
import type { Waiting } from "../../../turn/events.ts";
import { askingClient, callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { askAiSdk, askLangGraph } from "./described-protocols.ts";
import { askAboutBranches } from "./answers-about-branches.ts";

const user = { id: "ada" };
const turn = (message: string, sessionId = "s") => ({ user_id: "ada", session_id: sessionId, message });
const imported = (externalId: string) => [
  { role: "user", content: "Which tree do I like?", metadata: { external_id: externalId } },
  { role: "assistant", content: "The juniper." },
];
const completion = { model: "conversation-graph", messages: [{ role: "user", content: "Hello" }] };

/** Every operation called at a real service with every layer of memory: what it answers, it answers as described. */
describe("the description of the API", () => {
  const asking = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
  let service: TestService;
  let client: DescribedClient;
  let remove: () => Promise<void>;
  let conversation: { id: string };

  /** The first value of an answer, which must have this status. */
  async function ask<Value>(id: string, request: DescribedRequest = {}, status = 200): Promise<Value> {
    const { status: given, values } = await client.call(id, request);
    expect({ id, status: given, values }).toMatchObject({ status });
    return values[0] as unknown as Value;
  }

  beforeAll(async () => {
    const data = await createDataFolder();
    remove = data.remove;
    service = await openTestService({
      DATA_DIR: data.folder,
      ENABLE_EPISODIC_MEMORY: "true",
      ENABLE_CORE_MEMORY: "true",
      SUMMARY_MIN_MESSAGES: "2",
      SUMMARY_UPDATE_DELTA: "1",
      HISTORY_WINDOW: "0",
      SECRETS_KEY: "a key of more than thirty-two characters",
      MEMORY_READ_TIMEOUT_MS: "10000", // this machine may be slow
    });
    client = makeDescribedClient(service.url);
  });
  afterAll(() => service.close().finally(remove));

  test("is true for answers about knowledge bases", async () => {
    const base = { params: { kb: "travel" } };
    const body = { description: "Journeys of Ada", keywords: ["journey"], worker: "hybrid_agent" };
    await ask("putKnowledgeBase", { ...base, body }, 201);
    await ask("putKnowledgeBase", { ...base, body });
    await ask("getKnowledgeBase", base);
    await ask("listKnowledgeBases");
    await ask("addDocument", { ...base, body: { title: "Lisbon", text: "Trams climb the hills of Lisbon.", external_id: "1" } }, 202);
    await ask("addDocument", { ...base, query: { title: "Blank" }, headers: { "content-type": "text/plain" }, body: " " }, 422);
    await waitUntil("the document is indexed", async () => {
      const { documents } = await ask<{ documents: { status: string }[] }>("listDocuments", base);
      return documents[0]?.status === "indexed";
    });
  });

  test("is true for answers about turns", async () => {
    const told = await client.call("streamTurn", { body: { ...turn("What climbs the hills?"), kb_prefix: "travel", debug: true } });
    expect(told.values.map(({ status }) => status)).toEqual(expect.arrayContaining(["route_decision", "token", "execution_log", "done"]));
    for (const message of ["My name is Ada and I live in Lisbon.", "I like the juniper best.", "Where do I live?"])
      await ask("runTurn", { body: turn(message) });
    const last = { params: { id: told.headers.get("x-turn-id") ?? "" } };
    for (const operation of ["getTurn", "resumeTurn", "cancelTurn"] as const) await ask(operation, last);
    const search = { params: { kb: "travel" }, query: { query: "What climbs the hills?" } };
    const { passages } = await ask<{ passages: { id: string }[] }>("findPassages", search);
    await ask("getPassage", { params: { kb: "travel", passage: passages[0]?.id ?? "none" } });
    await askForPicture(client, turn(""));
  });

  test("is true for answers about agents", async () => {
    const helper = { params: { name: "helper" } };
    await ask("putAgent", { ...helper, body: { description: "Helps", tools: ["calculate"] } }, 201);
    await ask("putAgent", { ...helper, body: { description: "Helps well", tools: ["calculate"], limits: { max_steps: 2 } } });
    await ask("putAgent", { ...helper, body: { disabled: true } }, 400);
    for (const id of ["getAgent", "listAgentVersions", "getAgentStats"] as const) await ask(id, helper);
    for (const id of ["listAgents", "getRules"] as const) await ask(id);
    const { values, headers } = await client.call("runTurn", { body: { ...turn("Who are you?"), agent: "helper" } });
    await ask("listSteps", { params: { id: headers.get("x-turn-id") ?? "" } });
    await ask("listConversationAgents", { params: { id: String(values[0]?.["conversation_id"]) } });
    await ask("getAgentHistory", { params: { id: String(values[0]?.["conversation_id"]), name: "helper" } });
    await ask("putRules", { body: { rules: [] } });
    await ask("matchAgents", { body: { user_id: "ada", message: "Who are you?" } });
    await ask("listMessages", { params: { id: String(values[0]?.["conversation_id"]) }, query: { include: "steps" } });
    await ask("deleteAgent", helper);
    const files = { "SKILL.md": "---\nname: helper\ndescription: Helps\n---\nHelp." };
    await ask("putSkill", { ...helper, body: { files } }, 201);
    await ask("putSkill", { ...helper, body: { files } });
    await ask("getSkill", helper);
    await ask("listSkills");
    await ask("deleteSkill", helper);
  });

  test("is true for answers about questions", async () => {
    const described = makeDescribedClient(asking.url);
    await described.call("putAgent", { params: { name: "helper" }, body: { description: "Orders", tools: ["order"] } });
    const people = askingClient(asking);
    people.follow([callOf("order", { item: "tea" })], "Ordered.");
    const { status, values } = await described.call("runTurn", { body: { ...turn("Order tea."), agent: "helper" } });
    const waiting = values[0] as unknown as Waiting;
    expect([status, waiting.question.type]).toEqual([202, "permission"]);
    await described.call("listQuestions", { query: { user_id: "ada" } });
    await described.call("getTurn", { params: { id: waiting.turn_id } });
    const answer = { params: { id: waiting.turn_id }, body: { question_id: waiting.question.id, answer: "allow_always" } };
    expect((await described.call("answerQuestion", answer)).status).toBe(201);
    await Promise.all([people.rest(waiting), described.call("listDecisions", { params: user })]);
    const [kept] = (await described.call("listPermissions", { params: user })).values as unknown as { permissions: { id: string }[] }[];
    await described.call("revokePermission", { params: { ...user, permission_id: kept?.permissions[0]?.id ?? "none" } });
    for (const id of described.answered) client.answered.add(id);
  });

  test("is true for answers about conversations", async () => {
    await ask("importMessages", { body: { user_id: "ada", session_id: "old", messages: imported("1") } });
    const progress = { accept: "text/event-stream" };
    await ask("importMessages", { body: { user_id: "ada", session_id: "old", messages: imported("2") }, headers: progress });
    const { conversations } = await ask<{ conversations: { id: string; session_id: string }[] }>("listConversations", {
      query: { user_id: "ada" },
    });
    conversation = conversations.find((listed) => listed.session_id === "s") ?? { id: "none" };
    await ask("listConversationJobs", { params: conversation });
    expect(await ask("settleConversation", { params: conversation })).toEqual({ settled: true, pending: 0 });
    expect(await ask("getSummary", { params: conversation })).toMatchObject({ summary: { version: expect.any(Number) as unknown } });
    await ask("compactConversation", { params: conversation });
    await ask("revertSummary", { params: conversation, body: { version: 1 } });
    await ask("getContext", { params: conversation });
    const { messages } = await ask<{ messages: { id: string }[] }>("listMessages", { params: conversation });
    await ask("getMessage", { params: { id: messages[0]?.id ?? "none" } });
    await ask("findMessages", { params: user, query: { query: "juniper" } });
    const answer = { params: { id: messages[1]?.id ?? "none" } };
    await ask("rateMessage", { ...answer, body: { value: 1, comment: "good" } });
    await ask("listMessages", { params: conversation });
    await ask("removeRating", answer);
    await askAboutBranches(ask, conversation, messages[1]?.id ?? "none");
    await ask("changeConversation", { params: conversation, body: { title: "Trams", pinned: true, metadata: { folder: 1 } } });
    await ask("getConversation", { params: conversation });
  });

  test("is true for answers about memory", async () => {
    const { episodes } = await ask<{ episodes: { id: string }[] }>("findEpisodes", { params: user, query: { query: "juniper" } });
    await ask("forgetEpisode", { params: { ...user, episode: episodes[0]?.id ?? "none" } });
    const goals = { params: { ...user, section: "goals" } };
    await ask("writeSection", { ...goals, body: { content: "To see every tram." }, headers: { "if-none-match": "*" } });
    await ask("writeSection", { ...goals, body: { content: "To see one tram." }, headers: { "if-match": '"7"' } }, 409);
    await ask("revertSection", { ...goals, body: { version: 1 } });
    const by = (updated_by: string): unknown => expect.objectContaining({ updated_by });
    expect(await ask<{ sections: object[] }>("getCoreMemory", { params: user })).toMatchObject({
      sections: expect.arrayContaining([by("agent"), by("person")]) as unknown,
    });
    for (const id of ["removeSection", "getSectionHistory"]) await ask(id, goals);
    await ask("listMemoryOperations", { params: user });
    expect((await client.call("exportUser", { params: user })).text).toContain('"kind":"memory_operations"');
    await ask("auditUser", { params: user });
  });

  test("is true for answers in OpenAI's protocol", async () => {
    await ask("createCompletion", { body: completion });
    await ask("createCompletion", { body: { ...completion, stream: true, stream_options: { include_usage: true } } });
    await ask("createCompletion", { body: { ...completion, model: "none" } }, 404);
    await ask("createEmbeddings", { body: { input: ["juniper", "刺柏"], encoding_format: "base64" } });
    await ask("listModels");
    await ask("getModel", { params: { id: "conversation-graph" } });
    const made = await ask<{ id: string }>("createConversation", { body: { metadata: { of: "a test" } } });
    await ask("addItems", { params: made, body: { items: [{ role: "user", content: "I like junipers" }] } });
    await ask("changeOpenAIConversation", { params: made, body: { metadata: { of: "another test" } } });
    const asked = await ask<{ id: string }>("createResponse", { body: { input: "Which tree?", conversation: made.id } });
    await ask("createResponse", { body: { input: "And now?", previous_response_id: asked.id, stream: true } });
    await ask("createResponse", { body: { input: "And now?", previous_response_id: "resp_none" } }, 400);
    const response = { params: { id: asked.id } };
    await ask("getResponse", response);
    await ask("getResponse", { ...response, query: { stream: "true" } });
    await ask("listResponseInput", response);
    await ask("cancelResponse", response);
    await ask("deleteResponse", response);
    await ask("getOpenAIConversation", { params: made });
    const { data: items } = await ask<{ data: { id: string }[] }>("listItems", { params: made });
    const last = { params: { ...made, item: items[0]?.id ?? "none" } };
    await ask("getItem", last);
    await ask("deleteItem", last);
    await ask("deleteOpenAIConversation", { params: made });
  });

  test("is true for answers in LangGraph's protocol and to the AI SDK", () => askLangGraph(ask).then(() => askAiSdk(ask)));

  test("is true for answers about MCP servers", async () => {
    const docs = { params: { name: "docs" } };
    await ask("putMcpServer", { ...docs, body: { url: "https://docs.example.org/mcp", headers: { "X-Key": "sesame" } } }, 201);
    await ask("putMcpServer", { ...docs, body: { url: "https://docs.example.org/mcp" } });
    for (const id of ["getMcpServer", "listMcpServers", "deleteMcpServer"]) await ask(id, docs);
  });

  test("is true for answers over MCP", async () => {
    await client.call("finishSignIn", { query: { state: "x", code: "y" } });
    await ask("callMcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
    await ask("callMcp", { body: { jsonrpc: "2.0", id: "x", method: "no/such/method" } });
  });

  test("is true for answers about the service, and for deletions", async () => {
    const health = ["getHealth", "getReadiness", "getServiceHealth", "getStatus", "listSettings", "listLimits", "getApiDescription"];
    for (const id of [...health, "describeModels", "testModel", "listJobs", "listUsage"]) await ask(id);
    await ask("retryJobs", { body: {} });
    for (const id of ["getMetrics", "readApiDescription"]) await client.call(id);
    const [, script = ""] = /src="\/assets\/([^"]+)"/.exec((await client.call("openPage")).text) ?? [];
    await client.call("getPageAsset", { params: { file: script } });
    await client.call("getDocsAsset", { params: { file: "start.js" } });
    const { documents } = await ask<{ documents: { id: string }[] }>("listDocuments", { params: { kb: "travel" } });
    await ask("listPassages", { params: { kb: "travel", document: documents[0]?.id ?? "none" } });
    await ask("readDocumentAgain", { params: { kb: "travel", document: documents[0]?.id ?? "none" } }, 202);
    await ask("deleteDocument", { params: { kb: "travel", document: documents[0]?.id ?? "none" } });
    await ask("deleteKnowledgeBase", { params: { kb: "travel" } });
    await ask("eraseConversation", { params: conversation });
    await ask("eraseUser", { params: user });
    const messages = Array.from({ length: 5_000 }, (_, number) => ({ role: "user", content: `message ${number}` }));
    const { conversation_id: id } = await ask<{ conversation_id: string }>("importMessages", {
      body: { user_id: "ada", session_id: "large", messages },
    });
    const { erasure_id: erasure } = await ask<{ erasure_id: string }>("eraseConversation", { params: { id } }, 202);
    await ask("getErasure", { params: { id: erasure } });
  });

  test("has been compared with answers of every operation", () => {
    const inBrowsers = "finishSignIn"; // sign-in-at-mcp-servers.test.ts
    expect([...client.answered, inBrowsers].toSorted()).toEqual(OPERATIONS.map(({ id }) => id).toSorted());
  });

  const REFUSED = OPERATIONS.filter(({ isOpen }) => !isOpen);
  test.each(REFUSED)("is true for refusals of $id", async ({ id, body }) => {
    const ids = { id: uuidv7(), kb: "none", section: "profile", episode: uuidv7(), document: uuidv7(), file: "none" };
    const unknown = { ...(body ? { body: { unknown: 1 } } : {}) };
    const refusals = [
      await client.call(id, { params: ids, query: { limit: "0", timeout_ms: "x", version: "x" }, ...unknown }),
      await client.call(id, { params: { ...ids, id: "\0", kb: "A B", section: "A B" }, ...unknown }),
      ...(body ? [await client.call(id, { params: ids, query: { title: "x" }, headers: { "content-type": "image/png" }, body: "x" })] : []),
      ...(body ? [await client.call(id, { params: ids, headers: { "content-type": "application/json" }, body: "{" })] : []),
    ];
    if (body) expect(refusals.map(({ status }) => status)).toEqual(expect.arrayContaining([400, 415]));
  });
});
