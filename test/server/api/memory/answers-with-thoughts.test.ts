import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { removeThoughts } from "../../../../stores/postgres/turns/remove-thoughts.ts";
import { callApi, type ListedMessage } from "../../../support/clients/api-client.ts";
import { openTestPostgres } from "../../../support/databases/databases.ts";
import { storesOf } from "../../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { conversationApi } from "../../../support/services/service-with-episodes.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../../support/services/service-with-model.ts";

const OWNER = { tenantId: "default", userId: "ada" };
const TALK = ["My cat is called Mimi.", "She sleeps in the piano.", "She is afraid of trams.", "She likes cheese."];
const tagged = (message: string): string => `<think>The user lives in Linz.</think>\n\nNoted: ${message}`;
/** Whatever of a thought is kept, "Linz" or a word of an index. */
const WORD = "inz";
const MODELS = { SUMMARY_MODEL: "test-summary", MEMORY_MODEL: "test-memory" };
const LAYERS = { ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in", ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000" };
const EARLY = { HISTORY_WINDOW: "4", SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2" };

describe("answers that an earlier version has stored with thoughts in them", () => {
  let database: Awaited<ReturnType<typeof openTestPostgres>>;
  let running: ServiceWithModel;
  let api: ReturnType<typeof conversationApi>;
  let conversationId = "";
  beforeAll(async () => {
    database = await openTestPostgres();
    const { complete } = storesOf(database);
    for (const message of TALK) await complete({ ...OWNER, sessionId: "s", message }, sampleAnswer({ content: tagged(message) }));
    running = await openServiceWithModel({ DATABASE_URL: database.url, ...MODELS, ...LAYERS, ...EARLY });
    running.model.answer(({ model }) => ({ tokens: [model === "test-summary" ? "The cat Mimi likes cheese." : "nothing to do"] }));
    api = conversationApi(running.url);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const prompts = (model: string): string[] =>
    running.model.seen.filter(({ body }) => body.model === model).map(({ body }) => JSON.stringify(body.messages));
  const listed = async (): Promise<string[]> => {
    const address = `${running.url}/api/v1/conversations/${conversationId}/messages?user_id=ada&limit=100`;
    return (await callApi<{ messages: ListedMessage[] }>(address)).json.messages.map(({ content }) => content);
  };

  test("are in the next prompt without them", async () => {
    ({ conversation_id: conversationId } = await api.say("ada", "And now?"));
    expect(prompts("test-chat")).toEqual([expect.stringContaining(`"content":"Noted: ${TALK[3]}"`)]);
    expect(prompts("test-chat").join()).not.toContain(WORD);
  });

  test("reach the summary, the memory agent and the index without them", async () => {
    expect(await api.settle(conversationId)).toMatchObject({ settled: true });
    const agent = prompts("test-memory").filter((prompt) => prompt.includes("core memory"));
    for (const read of [prompts("test-summary"), agent]) {
      expect(read.join()).toContain(`Noted: ${TALK[0]}`);
      expect(read.join()).not.toContain(WORD);
    }
    expect(await tablesHolding(database, WORD)).toEqual({ "public.messages": TALK.length });
  });

  test("complete a question that points back without them", async () => {
    running.model.seen.splice(0);
    await api.say("ada", "Where was that plumber you mentioned?");
    const [asked] = prompts("test-memory").filter((prompt) => prompt.includes("The last question of a conversation points at"));
    expect(asked).toContain(`Noted: ${TALK[3]}`);
    expect(asked).not.toContain(WORD);
  });

  test("are recalled in another conversation, and found, without them", async () => {
    running.model.seen.splice(0);
    await api.say("ada", "What is my cat called?", "another");
    const [prompt = ""] = prompts("test-chat");
    expect(prompt).toContain(`> Noted: ${TALK[0]}`);
    expect(prompt).not.toContain(WORD);
    const { episodes } = (await api.episodes("ada", { query: "My cat Mimi" })).json;
    expect(episodes[0]?.assistant_message).toBe(`Noted: ${TALK[0]}`);
    expect(JSON.stringify(episodes)).not.toContain(WORD);
    const find = (query: string) =>
      callApi<{ messages: ListedMessage[] }>(`${running.url}/api/v1/users/ada/messages?${new URLSearchParams({ query }).toString()}`);
    expect((await find("Linz")).json.messages).toEqual([]);
    expect((await find("noted cheese")).json.messages.map(({ content }) => content)).toEqual([`Noted: ${TALK[3]}`]);
  });

  test("are listed as they are stored, until they are changed there", async () => {
    expect((await listed()).slice(0, 2)).toEqual([TALK[0], tagged(TALK[0] ?? "")]);
    expect(await removeThoughts(database, new AbortController().signal)).toEqual({ answers: TALK.length, summaries: 0 });
    expect((await listed()).slice(0, 2)).toEqual([TALK[0], `Noted: ${TALK[0]}`]);
    expect(await tablesHolding(database, WORD)).toEqual({});
  });
});
