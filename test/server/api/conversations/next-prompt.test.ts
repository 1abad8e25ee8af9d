import { beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { NextPrompt } from "../../../../server/api/conversations/next-prompt.ts";
import type { Receipt } from "../../../../turn/state.ts";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ErrorBody, postJson, putJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { importedTurns } from "../../../support/services/service-with-episodes.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const database = useTestPostgres();
const running = (environment: Record<string, string> = {}) =>
  useServiceWithModel({
    get DATABASE_URL() {
      return database.url;
    },
    ENABLE_CORE_MEMORY: "true",
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    ROUTER_MODEL: "test-router",
    MEMORY_MODEL: "test-memory",
    INSTRUCTIONS: "You are Calypso.",
    ...environment,
  });

describe("the preview of the next prompt", () => {
  const opened = running();
  const small = running({ CONTEXT_TOKEN_BUDGET: "700" });
  const api = (path: string, url = opened.url) => `${url}/api/v1/${path}`;
  const asked = (sessionId: string, message: string, fields: object = {}) => ({
    user_id: "ada",
    session_id: sessionId,
    message,
    ...fields,
  });

  async function say(sessionId: string, message: string, fields: object = {}, url = opened.url): Promise<TurnResult> {
    const { status, json, text } = await postJson<TurnResult>(api("chat", url), asked(sessionId, message, fields));
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  }
  const settle = (id: string) => postJson(api(`conversations/${id}/settle?timeout_ms=20000`), "");
  const preview = (id: string, query: Record<string, string>, url = opened.url) =>
    callApi<{ next_prompt: NextPrompt } & ErrorBody>(api(`conversations/${id}/context?${new URLSearchParams(query).toString()}`, url));

  async function bring(userId: string, sessionId: string, turns: [string, string][]): Promise<string> {
    const body = { user_id: userId, session_id: sessionId, messages: importedTurns(turns) };
    const { json } = await postJson<{ conversation_id: string }>(api("conversations/import"), body);
    await settle(json.conversation_id);
    return json.conversation_id;
  }

  beforeAll(async () => {
    opened.model.answer({ tokens: ["fine"] });
    await bring("ada", "elsewhere", [["Book a table for two in Lisbon 里斯本的桌子", "Done, at eight."]]);
    await putJson(api("users/ada/core-memory/profile"), { content: "Name: Ada" });
    await putJson(api("knowledge/trips"), { description: "Trips by train", instructions: "Be brief." });
    await putJson(api("agents/poet"), { description: "Rhymes", instructions: "Rhyme.", memory: { core_memory: false } });
    await putJson(api("agents/counter"), { description: "Counts", tools: ["calculate"] });
  });

  /** Scores of episodes fall with their age. */
  const withoutScores = (receipt: Receipt | null) => ({
    ...receipt,
    episodes: receipt?.episodes.map((episode) => ({ ...episode, score: expect.any(Number) })),
  });

  test.each([
    ["of a message that the router places", "What was it about the table in Lisbon?", {}],
    ["with a named knowledge base", "When does the train to our table in Lisbon leave?", { kb_prefix: "trips" }],
    ["for an agent without tools", "And the table in Lisbon?", { agent: "poet" }],
    ["for an agent with tools and earlier calls", "And now the table in Lisbon?", { agent: "counter" }],
    ["of a message in Chinese", "我们在里斯本订的桌子是几点？", {}],
  ])("%s is equal to the prompt of the turn that follows", async (_, message, fields) => {
    const sessionId = uuidv7();
    let calls = 0;
    // The memory agent reads turns of the test before with tools of its own.
    opened.model.answer(({ tools, model }) => {
      const call = tools !== undefined && model === "test-chat" && calls++ === 0;
      return call ? { toolCalls: [{ name: "calculate", arguments: { expression: "1+1" } }] } : { tokens: ["two"], withoutUsage: true };
    });
    const { conversation_id: id } = await say(sessionId, "Count one and one.", { agent: "counter" });
    expect(calls).toBe(2);
    await settle(id);
    const { next_prompt: next } = (await preview(id, { message, ...fields })).json;
    opened.model.answer(({ model }) => ({ tokens: [model === "test-router" ? "no JSON" : "yes"], withoutUsage: true }));
    const done = await say(sessionId, message, fields);
    expect(next.receipt).toEqual(withoutScores(done.receipt));
    expect(next).toMatchObject({ agent: done.agent, tokens: done.usage.prompt_tokens, usage_ratio: done.usage.usage_ratio });
    expect(next.parts).toMatchObject(done.receipt.prompt_tokens ?? {});
    expect(Object.values(next.parts ?? {}).reduce<number>((sum, tokens) => sum + (tokens ?? 0), 0)).toBe(next.tokens);
    expect(next.receipt?.episodes.length).toBeGreaterThan(0);
    expect(next.message_ids).toHaveLength(2);
    expect(next.left_out).toEqual(done.agent === "poet" ? [{ part: "core_memory", why: "switched_off", ids: [], count: null }] : []);
    expect("steps" in (next.parts ?? {})).toBe(done.agent === "counter");
  });

  /** All rows of all tables. */
  async function everything(): Promise<string[]> {
    const text = "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'pgboss')";
    const tables = await database.query<{ name: string }>({ text });
    const rows = await Promise.all(
      tables.map(({ name }) => database.query<{ row: string }>({ text: `select '${name} ' || kept::text as row from ${name} kept` })),
    );
    // What the queue writes of itself, and what is written of earlier calls some seconds later.
    const others = /^(?:pgboss\.(?:queue|version|schedule)|public\.model_(?:usage|measures))/;
    return rows.flatMap((some) => some.map(({ row }) => row).filter((row) => !others.test(row))).toSorted();
  }

  test("asks no model and stores nothing, even while a turn is running in the conversation", async () => {
    opened.model.answer({ tokens: ["fine"] });
    const { conversation_id: id } = await say("held", "Hello.");
    await settle(id);
    const release = opened.model.hold();
    const seen = opened.model.seen.length;
    const running = say("held", "Wait for me.");
    await opened.model.untilAsked(seen + 1);
    const before = await everything();
    const { status, json } = await preview(id, { message: "Would a table in Lisbon be Zephyrine, or that one?" });
    expect(status).toBe(200);
    expect(json.next_prompt.message_ids).toHaveLength(3); // with the question that is being answered
    expect(opened.model.seen).toHaveLength(seen + 1);
    expect(await everything()).toEqual(before);
    release();
    expect((await running).completed).toBe(true);
  });

  test("names the messages that have no room, and the messages that the summary stands for", async () => {
    small.model.answer({ tokens: ["fine"] });
    const long = (text: string) => `${text} `.repeat(40);
    const id = await bring(
      "bob",
      "long",
      Array.from({ length: 12 }, (_, n) => [long(`question ${n}`), long(`answer ${n}`)] as [string, string]),
    );
    const { json } = await callApi<{ messages: { id: string }[] }>(api(`conversations/${id}/messages?limit=200`));
    const all = json.messages.map((message) => message.id);
    const { next_prompt: next } = (await preview(id, { message: "question?" }, small.url)).json;
    const covered = next.left_out.find(({ why }) => why === "summarised")?.count ?? 0;
    const without = next.left_out.find(({ part, why }) => part === "window" && why === "no_room");
    expect(covered).toBeGreaterThan(0);
    expect(without?.ids.length).toBeGreaterThan(0);
    expect(all.slice(-((without?.count ?? 0) + (next.message_ids?.length ?? 0)))).toEqual([
      ...(without?.ids ?? []),
      ...(next.message_ids ?? []),
    ]);
    expect(next.notices).toMatchObject([{ code: "context_trimmed" }]);
    expect(next.tokens).toBeLessThanOrEqual(next.context_limit);
  });

  test.each([
    ["a blank message", { message: " " }, 400, "invalid_request", /blank/],
    ["an unknown agent", { message: "hi", agent: "nobody" }, 400, "invalid_request", /no agent "nobody"/],
    ["an unknown knowledge base", { message: "hi", kb_prefix: "nothing" }, 400, "invalid_request", /nothing/],
  ])("is refused for %s", async (_, query, status, code, says) => {
    const { conversation_id: id } = await say("refused", "Hello.");
    expectRefusal(await preview(id, query), { status, code, says });
  });

  test("is not found for an unknown conversation, and is left out when no message is given", async () => {
    const { conversation_id: id } = await say("plain", "Hello.");
    expectRefusal(await preview(uuidv7(), { message: "hi" }), { status: 404, code: "not_found" });
    expect((await preview(id, {})).json).not.toHaveProperty("next_prompt");
  });
});
