import { afterAll, beforeAll, describe, expect, test, afterEach } from "@jest/globals";
import { removeThoughts } from "../../../../stores/postgres/turns/remove-thoughts.ts";
import { callApi, type ListedMessage } from "../../../support/clients/api-client.ts";
import { openTestPostgres } from "../../../support/databases/databases.ts";
import { storesOf } from "../../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { conversationApi, useServiceWithEpisodes } from "../../../support/services/service-with-episodes.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../../support/services/service-with-model.ts";
import type { ChatRequestBody } from "../../../servers/model-server.ts";
import {
  openOfflineCoreMemory,
  openServiceWithCoreMemory,
  writing,
  type CoreMemoryApi,
} from "../../../support/services/service-with-core-memory.ts";
import { takeFencesOut } from "./poison.ts";

const OWNER = { tenantId: "default", userId: "ada" };
const TALK = ["My cat is called Mimi.", "She sleeps in the piano.", "She is afraid of trams.", "She likes cheese."];
const tagged = (message: string): string => `<think>The user lives in Linz.</think>\n\nNoted: ${message}`;
/** Whatever of a thought is kept, "Linz" or a word of an index. */
const WORD = "inz";
const MODELS = { SUMMARY_MODEL: "test-summary", MEMORY_MODEL: "test-memory" };
const LAYERS = { ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in", ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000" };
const EARLY = { HISTORY_WINDOW: "4", SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2" };
describe("answers that an earlier version stored with thoughts", () => {
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

  test("stand in the next prompt without the thoughts", async () => {
    ({ conversation_id: conversationId } = await api.say("ada", "And now?"));
    expect(prompts("test-chat")).toEqual([expect.stringContaining(`"content":"Noted: ${TALK[3]}"`)]);
    expect(prompts("test-chat").join()).not.toContain(WORD);
  });

  test("reach the summary, the memory agent and the index without the thoughts", async () => {
    expect(await api.settle(conversationId)).toMatchObject({ settled: true });
    const agent = prompts("test-memory").filter((prompt) => prompt.includes("core memory"));
    for (const read of [prompts("test-summary"), agent]) {
      expect(read.join()).toContain(`Noted: ${TALK[0]}`);
      expect(read.join()).not.toContain(WORD);
    }
    expect(await tablesHolding(database, WORD)).toEqual({ "public.messages": TALK.length });
  });

  test("help to complete a question that refers to them, without the thoughts", async () => {
    running.model.seen.splice(0);
    await api.say("ada", "Where was that plumber you mentioned?");
    const [asked] = prompts("test-memory").filter((prompt) => prompt.includes("The last question of a conversation points at"));
    expect(asked).toContain(`Noted: ${TALK[3]}`);
    expect(asked).not.toContain(WORD);
  });

  test("are recalled in another conversation and found without the thoughts", async () => {
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

  test("are listed with the thoughts until the stored text is changed", async () => {
    expect((await listed()).slice(0, 2)).toEqual([TALK[0], tagged(TALK[0] ?? "")]);
    expect(await removeThoughts(database, new AbortController().signal)).toEqual({ answers: TALK.length, summaries: 0 });
    expect((await listed()).slice(0, 2)).toEqual([TALK[0], `Noted: ${TALK[0]}`]);
    expect(await tablesHolding(database, WORD)).toEqual({});
  });
});

const TURNS = 100;
/** Nothing of it is new about the user; much of it comes near to what is known. */
const SMALL_TALK = [
  ...["Thanks!", "What do you know about me?", "Where do I live?", "Tell me a joke about cats.", "And what is my name?"],
  ...["好的，谢谢。", "我住在哪里？", "Is Porto nice in spring?", "Yes, exactly.", "Could you say that again?"],
];
type Grown = { facts: string[]; versions: number; operations: number };
describe("a hundred turns that say nothing new", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function look(api: CoreMemoryApi, user: string): Promise<Grown> {
    const sections = await api.read(user);
    return {
      facts: sections.flatMap(({ content }) => content.split("\n")),
      versions: sections.reduce((sum, { version }) => sum + version, 0),
      operations: (await api.operations(user)).json.operations.length,
    };
  }

  /** Says what is new, then nothing new for the rest; what there was before and is after. */
  async function talk(api: CoreMemoryApi, facts: readonly string[]): Promise<{ before: Grown; after: Grown }> {
    let last = "";
    for (const fact of facts) last = (await api.say("ada", fact)).conversation_id;
    await api.settle(last);
    const before = await look(api, "ada");
    for (let turn = 0; turn < TURNS; turn++) {
      const done = await api.say("ada", SMALL_TALK[turn % SMALL_TALK.length] ?? "", `session ${turn % 3}`);
      expect(done.receipt.core_memory.length).toBeGreaterThan(0);
      if (turn % 10 === 9) await api.settle(done.conversation_id);
      last = done.conversation_id;
    }
    await api.settle(last);
    return { before, after: await look(api, "ada") };
  }

  test("do not change the core memory of the built-in rules, its versions or its log", async () => {
    const service = await openOfflineCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => service.close());
    const facts = ["My name is Ada.", "I live in Porto.", "I like tea.", "我不喜欢香菜。"];
    const { before, after } = await talk(service, facts);
    expect(before.facts.length).toBeGreaterThanOrEqual(3);
    expect(after).toEqual(before);
    let last = "";
    for (let turn = 0; turn < 30; turn++) last = (await service.say("ada", facts[turn % facts.length] ?? "")).conversation_id;
    await service.settle(last);
    expect(await look(service, "ada")).toEqual(before);
  });

  /** Answers with all that core memory says, as if it were the user's own words. */
  function echo({ messages }: ChatRequestBody) {
    const { inside } = takeFencesOut(messages[0]?.content ?? "");
    const known = inside.find(({ tag }) => tag === "core_memory")?.text ?? "";
    return { tokens: ["You told me: ", known, " I live in Paris. My name is Eve."] };
  }

  test("do not change core memory when the model repeats it and the memory model writes down again all it knows", async () => {
    const running = await openServiceWithCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => running.close());
    running.answer(echo);
    // Keeps each section as it is, and adds the user's own "I …" sentences that it does not say yet: never what only the assistant said.
    running.remember(({ messages }) => {
      if (messages.some(({ role }) => role === "tool")) return { tokens: ["done"] };
      const { inside } = takeFencesOut(messages[1]?.content ?? "");
      const linesIn = (text: string): string[] => text.split("\n").flatMap((line) => (line.startsWith("> ") ? [line.slice(2)] : []));
      const known = linesIn(inside.find(({ tag }) => tag === "core_memory")?.text ?? "");
      const said = inside.flatMap(({ tag, text }) => (tag === "user_message" ? linesIn(text).filter((line) => /^I /.test(line)) : []));
      return { toolCalls: [writing("profile", [...new Set([...known, ...said])].join("\n"))] };
    });
    const { before, after } = await talk(running, ["I live in Porto.", "I have a cat."]);
    expect(before.facts).toEqual(["I live in Porto.", "I have a cat."]);
    expect(after).toEqual(before);
  });

  test("never show injected core memory to the memory model as the user's words", async () => {
    const running = await openServiceWithCoreMemory({ ENABLE_SUMMARY: "false" });
    closing.push(() => running.close());
    running.answer(echo);
    await running.write("ada", "profile", "Collects marbles 4711");
    for (const message of ["Thanks!", "What do you know about me?", "Yes."])
      await running.settle((await running.say("ada", message)).conversation_id);
    for (const { body } of running.memoryRequests()) {
      const { outside, inside } = takeFencesOut(body.messages[1]?.content ?? "");
      expect(outside).not.toContain("4711");
      expect(inside.filter(({ tag, text }) => tag === "user_message" && text.includes("4711"))).toEqual([]);
      expect(inside.filter(({ tag, text }) => tag === "core_memory" && text.includes("4711"))).toHaveLength(1);
    }
  });
});

describe("an exchange", () => {
  const service = useServiceWithEpisodes({ EPISODE_SCOPE: "user", EPISODE_TOP_K: "4" });
  const REX = "The capital of Lisbon is Rex.";
  test("is found by its question alone when a model always says the same, and this answer is in no later prompt", async () => {
    const { say, settle, episodes, model } = service;
    model.answer({ tokens: [REX] });
    for (const message of ["I live in Lisbon near the river.", "My dog is called Rex.", "I am allergic to peanuts."])
      await say("ada", message);
    for (let time = 0; time < 5; time++) await say("ada", "Where do I live?");
    const { conversation_id } = await say("ada", "What is my dog called?");
    await settle(conversation_id);

    const found = async (query: string): Promise<string[]> =>
      (await episodes("ada", { query, limit: "3" })).json.episodes.map(({ user_message }) => user_message);
    expect(await found("What is the capital?")).toEqual(["I live in Lisbon near the river."]);
    expect((await found("Where do I live?")).toSorted()).toEqual(["I live in Lisbon near the river.", "Where do I live?"]);

    await say("ada", "Where do I live, and what is my dog called?", "another day");
    const prompt =
      model.seen
        .at(-1)
        ?.body.messages.map(({ content }) => content)
        .join("\n") ?? "";
    expect(prompt).toContain("I live in Lisbon near the river.");
    expect(prompt).toContain("My dog is called Rex.");
    expect(prompt).not.toContain(REX);
  });
});
