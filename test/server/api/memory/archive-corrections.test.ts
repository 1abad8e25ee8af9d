import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import type { ChatRequestBody, ModelScript, ScriptedToolCall } from "../../../servers/model-server.ts";
import { callOnce, useServiceWithCoreMemory } from "../../../support/services/service-with-core-memory.ts";

const OLD = "Grace sold her boat Albatross in Porto.";
const NEW = "Grace sold her boat Minerva in Faro.";
const INSERT = { name: "archival_insert", arguments: { content: OLD, episode_type: "outcome" } };
const UPDATE = { name: "archival_update", arguments: { memory: 1, content: NEW, importance: 0.9, reason: "She named another boat." } };
const DELETE = { name: "archival_delete", arguments: { memory: 1, reason: "She asked for it." } };
const NOTHING = (): ModelScript => ({ tokens: ["nothing to do"] });

/** Searches for the memory, and then makes the call. */
const afterSearch =
  (call: ScriptedToolCall) =>
  ({ messages }: ChatRequestBody): ModelScript => {
    const answered = messages.filter(({ role }) => role === "tool").length;
    if (answered === 0) return { toolCalls: [{ name: "archival_search", arguments: { query: "the boat of Grace" } }] };
    return answered === 1 ? { toolCalls: [call] } : { tokens: ["done"] };
  };

describe("an archived memory that the memory agent corrects or deletes", () => {
  const running = useServiceWithCoreMemory({ ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in", ENABLE_SUMMARY: "false" });
  let user: string;
  let told: string;
  let memoryId: string;
  beforeEach(async () => {
    user = crypto.randomUUID();
    running.answer(() => ({ tokens: ["I see."] }));
    running.remember(callOnce(INSERT));
    told = (await running.say(user, "Grace has news of her ship, listen.", "first")).conversation_id;
    await running.settle(told);
    memoryId = (await archived("Albatross"))[0]?.id ?? "";
    expect(memoryId).not.toBe("");
  });

  const archived = async (query: string) =>
    (await running.episodes(user, query))
      .filter(({ assistant_message }) => assistant_message === "")
      .map(({ id, user_message }) => ({ id, user_message }));
  /** A turn in another session after which the agent searches and calls. Returns its conversation. */
  async function sayThen(call: ScriptedToolCall, by = user): Promise<string> {
    running.remember(afterSearch(call));
    const { conversation_id } = await running.say(by, "Well, one more thing about that.", "second");
    for (const id of [conversation_id, told]) await running.settle(id); // its memory is indexed anew by a job of the first one
    running.remember(NOTHING);
    return conversation_id;
  }
  const operations = async () => (await running.operations(user)).json.operations;
  const toldToModel = (): string[] =>
    running.memoryRequests().flatMap(({ body }) => body.messages.filter(({ role }) => role === "tool").map(({ content }) => content));
  const erase = async (path: string): Promise<void> =>
    expect(await callApi(`${running.url}/api/v1/${path}`, { method: "DELETE" })).toMatchObject({ status: 200 });
  /** Nothing that a route shows of the user holds the word. */
  async function expectNowhere(word: string): Promise<void> {
    expect(JSON.stringify(await operations())).not.toContain(word);
    expect(JSON.stringify(await running.episodes(user, "boat Albatross Minerva Porto Faro", 50))).not.toContain(word);
  }

  test("is found by its new words, keeps its id, and its operation shows both values and the reason", async () => {
    const conversation = await sayThen(UPDATE);
    expect(toldToModel().findLast((said) => said.includes("Albatross"))).toMatch(
      /\[[\d-]{10}, outcome, importance 0\.5, memory 1\]\n> Grace sold/,
    );
    expect(await archived("Minerva Faro")).toEqual([{ id: memoryId, user_message: NEW }]);
    expect((await running.episodes(user, "Minerva Faro"))[0]).toMatchObject({
      conversation_id: told,
      episode_type: "outcome",
      importance: 0.9,
    });
    const [update, search, insert] = await operations();
    expect(update).toMatchObject({
      operation: "archival_update",
      old_value: OLD,
      new_value: NEW,
      reason: "She named another boat.",
      actor: "agent",
      episode_type: "outcome",
      importance: 0.9,
      conversation_id: conversation,
      kb_prefix: "general",
      refused: null,
    });
    expect(search).toMatchObject({ operation: "archival_search", reason: "the boat of Grace", new_value: null });
    expect(search?.results_count).toBeGreaterThan(0);
    expect(search?.top_result).toEqual({ id: expect.any(String), score: expect.any(Number) });
    expect(insert).toMatchObject({ operation: "archival_insert", episode_type: "outcome", importance: 0.5, results_count: null });
  });

  test("is not found any more after it is deleted, and its operation shows what it said", async () => {
    await sayThen(DELETE);
    expect(await archived("Albatross")).toEqual([]);
    expect((await operations())[0]).toMatchObject({
      operation: "archival_delete",
      old_value: OLD,
      new_value: null,
      reason: "She asked for it.",
    });
    await sayThen(DELETE);
    expect((await operations())[0]).toMatchObject({ operation: "archival_delete", refused: expect.stringContaining("no memory 1") });
  });

  test("belongs to its user, and the agent of another user does not find it", async () => {
    await sayThen(DELETE, crypto.randomUUID());
    expect(toldToModel().at(-1)).toMatch(/^Refused: memory: archival_search has shown no memory 1/);
    expect(await archived("Albatross")).toEqual([{ id: memoryId, user_message: OLD }]);
  });

  test("is erased with the conversation that corrected it, and its source is read again", async () => {
    const corrected = await sayThen(UPDATE);
    running.remember(callOnce(INSERT));
    await erase(`conversations/${corrected}`);
    await running.settle(told);
    await expectNowhere("Minerva");
    expect((await archived("Albatross")).map(({ user_message }) => user_message)).toEqual([OLD]);
  });

  test.each(["a conversation", "an exchange"])(
    "is erased with %s that it came from, together with everything that quotes it",
    async (what) => {
      await sayThen(UPDATE);
      const exchange = (await running.episodes(user, "news of her ship")).find(({ user_message }) =>
        user_message.startsWith("Grace has news"),
      );
      await erase(what === "a conversation" ? `conversations/${told}` : `users/${user}/episodes/${exchange?.id}`);
      for (const word of ["Albatross", "Minerva"]) await expectNowhere(word);
    },
  );

  test("is named as a search's best result until it is erased itself", async () => {
    await sayThen(UPDATE);
    const bestResult = async () => (await operations()).find(({ operation }) => operation === "archival_search")?.top_result;
    expect(await bestResult()).toMatchObject({ id: memoryId });
    const { conversation_id: other } = await running.say(user, "Something else.", "third");
    await running.settle(other);
    await erase(`conversations/${other}`);
    expect(await bestResult()).toMatchObject({ id: memoryId });
    await erase(`conversations/${told}`);
    expect(await bestResult()).toBeNull();
  });

  test("is quoted nowhere after it was deleted and its source is erased", async () => {
    await sayThen(DELETE);
    await erase(`conversations/${told}`);
    await expectNowhere("Albatross");
  });

  test("comes back when the turn that deleted it is erased", async () => {
    const conversation = await sayThen(DELETE);
    running.remember(callOnce(INSERT));
    await erase(`conversations/${conversation}`);
    await running.settle(told);
    expect((await archived("Albatross")).map(({ user_message }) => user_message)).toEqual([OLD]);
  });

  test("leaves no trace in the operations when a person forgets it", async () => {
    await sayThen(UPDATE);
    await erase(`users/${user}/episodes/${memoryId}`);
    for (const word of ["Albatross", "Minerva"]) await expectNowhere(word);
    expect(await running.episodes(user, "Minerva")).not.toContainEqual(expect.objectContaining({ id: memoryId }));
  });
});
