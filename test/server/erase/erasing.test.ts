import { beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";
import type { ScriptedToolCall } from "../../servers/model-server.ts";
import { callOnce, useServiceWithCoreMemory } from "../../support/services/service-with-core-memory.ts";
import { importedTurns, useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

const NOTHING_ELSE = { summaries: 0, episodes: 0, core_memory_sections: 0, memory_operations: 0, jobs: 0 };
describe("erasing a conversation over HTTP", () => {
  const database = useTestPostgres();
  const running = useOpened(() => openServiceWithSummaries({ DATABASE_URL: database.url, TURN_LEASE_MS: "1000" }));
  beforeEach(() => running.summarise({ tokens: ["They spoke."] }));

  const ask = (userId: string, message = "hello", session_id = "s"): object => ({ user_id: userId, session_id, message });
  const erase = (id: string) => callApi<object>(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" });
  const eraseOnly = async (userId: string) => erase((await listConversations(running.url, userId))[0]?.id ?? "");

  /** Rows of each kind that name the conversation. */
  async function leftOf(id: string): Promise<object | undefined> {
    const [left] = await database.query<object>({
      text: `select (select count(*) from conversations where id = $1)::int as conversations,
                    (select count(*) from messages where conversation_id = $1)::int as messages,
                    (select count(*) from conversation_summaries where conversation_id = $1)::int as summaries,
                    (select count(*) from pgboss.job where singleton_key like '%' || $1::text or data::text like '%' || $1::text || '%')::int as jobs`,
      values: [id],
    });
    return left;
  }
  const NOTHING = { conversations: 0, messages: 0, summaries: 0, jobs: 0 };

  test("reports how much was erased, takes an id in capitals, keeps other conversations and lets the session begin anew", async () => {
    await running.say("ada", "one");
    const { conversation_id: id } = await running.say("ada", "two");
    await running.settle(id);
    const other = await postJson<TurnResult>(`${running.url}/api/v1/chat`, ask("ada", "hello", "other"));
    const { status, json } = await erase(id.toUpperCase());
    expect({ status, json }).toEqual({ status: 200, json: { erased: { messages: 4, ...NOTHING_ELSE, summaries: 1 } } });
    expect((await listConversations(running.url, "ada")).map((left) => left.id)).toEqual([other.json.conversation_id]);
    expect(await listMessages(running.url, other.json.conversation_id)).toHaveLength(2);
    const gone = { status: 404, code: "not_found", says: /There is no conversation/ };
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}/messages`), gone);
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" }), gone);
    expect(await leftOf(id)).toEqual(NOTHING);
    const after = await running.say("ada", "three");
    expect(after.conversation_id).not.toBe(id);
    expect(after.receipt).toMatchObject({ summary: null, window_messages: 0 });
  });

  test("stops the turn that runs there, which stores nothing afterwards, and lets a new turn of the session run at once", async () => {
    running.model.answer(({ messages }) =>
      messages.at(-1)?.content === "old" ? { tokens: Array.from({ length: 400 }, () => "old "), betweenMs: 25 } : { tokens: ["new"] },
    );
    const before = running.model.seen.length;
    let deleted: ReturnType<typeof erase> | undefined;
    let next: Promise<TurnResult> | undefined;
    const { events } = await postTurn(running.url, ask("replaced", "old"), {
      onEvent(_event, sofar) {
        if (sofar.length !== 4) return;
        deleted = eraseOnly("replaced");
        next = deleted.then(() => running.say("replaced", "hello"));
      },
    });
    expect(await deleted).toMatchObject({ status: 200, json: { erased: { messages: 1, ...NOTHING_ELSE } } });
    expect(contentOf(events, "error").code).toBe("turn_superseded");
    expect(events.length).toBeLessThan(200);
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    expect((await next)?.completed).toBe(true);
    expect((await messagesOf(running.url, "replaced", "s")).map(({ content }) => content)).toEqual(["hello", "new"]);
  });
});

const profile = (content: string, turns?: unknown): ScriptedToolCall => ({
  name: "core_memory_update",
  arguments: { section: "profile", content, reason: `said: ${content}`, ...(turns === undefined ? {} : { turns }) },
});
describe("erasing one exchange of several that the memory agent read together", () => {
  const running = useServiceWithCoreMemory({
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    ENABLE_SUMMARY: "false",
  });
  let user: string;
  beforeEach(() => {
    user = crypto.randomUUID();
    running.model.seen.splice(0);
  });

  /** Has the agent read these messages together and make these calls; the conversation. */
  async function teach(messages: string[], ...calls: ScriptedToolCall[]): Promise<string> {
    running.remember(callOnce(...calls));
    const { conversation_id: id } = await running.bring(user, importedTurns(messages.map((message) => [message, "Noted."])));
    await running.settle(id);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    running.model.seen.splice(0);
    return id;
  }

  async function erase(word: string): Promise<void> {
    const episode = (await running.episodes(user, word)).find(({ user_message }) => user_message.includes(word));
    const address = `${running.url}/api/v1/users/${user}/episodes/${episode?.id}`;
    expect((await callApi(address, { method: "DELETE" })).status).toBeLessThan(300);
  }
  async function eraseAndSettle(conversationId: string, word: string): Promise<void> {
    await erase(word);
    await running.settle(conversationId);
  }

  const everything = async (): Promise<string> =>
    JSON.stringify([await running.read(user), (await running.history(user, "profile")).json, (await running.operations(user)).json]);
  const contents = async (): Promise<string | undefined> => (await running.read(user))[0]?.content;
  const readAgain = (): string[] =>
    running.memoryRequests().flatMap(({ body }) => body.messages[1]?.content.match(/(?<=<user_message>\n> ).*/g) ?? []);

  test.each([
    ["Porto", "Lives in Porto", "Has a dog called Rex"],
    ["Rex", "Has a dog called Rex", "Lives in Porto"],
  ])("removes the fact about %s and keeps the other", async (word, gone, kept) => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto\nHas a dog called Rex", [[1], [2]]));
    await eraseAndSettle(id, word);
    expect(await contents()).toBe(kept);
    expect(await everything()).not.toContain(gone);
    expect(await everything()).not.toContain(word);
  });

  test.each([
    ["that rested on two exchanges", [[1, 2]]],
    ["whose exchanges the model did not name", undefined],
  ])("rewrites from what is left a line %s", async (_name, turns) => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto with a dog called Rex", turns));
    running.remember(callOnce(profile("Has a dog called Rex", [[1]])));
    await eraseAndSettle(id, "Porto");
    expect(readAgain().slice(0, 1)).toEqual(["My dog is called Rex"]);
    expect(await contents()).toBe("Has a dog called Rex");
    expect(await everything()).not.toContain("Porto");
    const [section] = await running.read(user);
    expect(section?.lines).toEqual([{ content: "Has a dog called Rex", trigger_message_ids: [expect.any(String)] }]);
  });

  test("removes its fact even when later words have replaced the text of the fact", async () => {
    const id = await teach(["I live in Porto"], profile("Lives in Porto", [[1]]));
    running.remember(callOnce(profile("住在波尔图，工程师", [[1]])));
    await running.settle((await running.say(user, "I am an engineer", "later")).conversation_id);
    expect(await contents()).toBe("住在波尔图，工程师");
    running.remember(callOnce(profile("工程师", [[1]])));
    await eraseAndSettle(id, "Porto");
    expect(await contents()).toBe("工程师");
    expect(await everything()).not.toMatch(/Porto|波尔图/);
  });

  test("removes what the agent archived from it, and the agent archives anew from the rest", async () => {
    const archiving = { name: "archival_insert", arguments: { content: "Sold the boat Albatross in Porto.", episode_type: "outcome" } };
    const id = await teach(["I sold my boat Albatross", "It was in Porto"], archiving);
    running.remember(callOnce({ ...archiving, arguments: { ...archiving.arguments, content: "Sold the boat Albatross.", turns: [1] } }));
    await eraseAndSettle(id, "It was in Porto");
    const left = (await running.episodes(user, "Albatross Porto")).map(({ user_message }) => user_message);
    expect(left.toSorted()).toEqual(["I sold my boat Albatross", "Sold the boat Albatross."]);
    expect(await everything()).not.toContain("Porto");
  });

  test("works while the memory model is down, and the rest is read when the model is back", async () => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto with a dog called Rex"));
    running.remember(() => ({ status: 503 }));
    await erase("Porto");
    expect(await everything()).not.toMatch(/Porto/);
    running.remember(callOnce(profile("Has a dog called Rex", [[1]])));
    await running.settle(id);
    expect(await contents()).toBe("Has a dog called Rex");
  });
});

describe("forgetting one exchange", () => {
  // The built-in summariser and the rules: no model is asked.
  const SETTINGS = {
    OPENAI_BASE_URL: "",
    ENABLE_CORE_MEMORY: "true",
    SUMMARY_MIN_MESSAGES: "4",
    SUMMARY_UPDATE_DELTA: "2",
    HISTORY_WINDOW: "2",
  };
  const running = useServiceWithEpisodes(SETTINGS);
  test("removes it from every layer, makes the summary anew and keeps the rest", async () => {
    const user = `${running.url}/api/v1/users/ada`;
    const forget = (episode = "") => callApi(`${user}/episodes/${episode}`, { method: "DELETE" });
    let conversation = "";
    for (const message of [
      "I moved to Porto.",
      "My cat Tom ate the curtains on Monday.",
      "I like jazz a lot.",
      "I bought a red bicycle.",
    ]) {
      conversation = (await running.say("ada", message)).conversation_id;
      await running.settle(conversation);
    }
    const summary = `${running.url}/api/v1/conversations/${conversation}/summary`;
    const read = async (address: string) => (await callApi<unknown>(address)).text;
    const layers = [`${user}/core-memory`, `${user}/memory-operations`, `${user}/core-memory/profile/history`];
    for (const address of [summary, ...layers]) expect(await read(address)).toContain("Porto");

    const [porto] = (await running.episodes("ada", { query: "Porto" })).json.episodes;
    const { status, json } = await forget(porto?.id);
    const erased = { messages: 2, summaries: 1, episodes: 1, core_memory_sections: 1, memory_operations: 1, jobs: 0 };
    expect({ status, json }).toEqual({ status: 200, json: { erased } });
    const contents = (await messagesOf(running.url, "ada", "s")).map(({ content }) => content).join("\n");
    expect(contents).not.toContain("Porto");
    expect(contents).toContain("jazz");
    expect((await running.episodes("ada", { query: "Porto" })).json.episodes.map(({ id }) => id)).not.toContain(porto?.id);
    for (const address of layers) expect(await read(address)).not.toContain("Porto");
    for (const address of layers.slice(0, 2)) expect(await read(address)).toContain("jazz");

    await running.settle(conversation);
    const rebuilt = await waitUntil("the summary is made anew", async () => /Tom|jazz/.test(await read(summary)) && read(summary));
    expect(rebuilt).not.toContain("Porto");
    expectRefusal(await forget(porto?.id), { status: 404, code: "not_found" });
    expectRefusal(await forget("cello"), { status: 400, code: "invalid_request", field: "episode id" });
  });
});
