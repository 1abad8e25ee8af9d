import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ErrorBody, type ListedMessage, postJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const database = useTestPostgres();
const opened = useServiceWithModel({
  SUMMARY_MIN_MESSAGES: "4",
  SUMMARY_UPDATE_DELTA: "2",
  HISTORY_WINDOW: "2",
  ENABLE_SUMMARY: "true",
  ENABLE_EPISODIC_MEMORY: "true",
  EMBEDDING_MODEL: "built-in",
  get DATABASE_URL() {
    return database.url;
  },
});

const api = (path: string): string => `${opened.url}/api/v1/${path}`;
const list = async (id: string): Promise<ListedMessage[]> =>
  (await callApi<{ messages: ListedMessage[] }>(api(`conversations/${id}/messages?limit=200`))).json.messages;
const contents = async (id: string): Promise<string[]> => (await list(id)).map(({ content }) => content);
const settle = (id: string) => postJson<{ settled: boolean }>(api(`conversations/${id}/settle?timeout_ms=30000`), {});
const fork = (id: string, body: object) => postJson<{ conversation_id: string } & ErrorBody>(api(`conversations/${id}/fork`), body);
const lastPrompt = (): string => JSON.stringify(opened.model.seen.filter(({ body }) => body.stream).at(-1)?.body.messages);

/** A user of this test alone. */
function person() {
  const userId = `ada ${uuidv7()}`;
  async function say(sessionId: string, message: string, answer: string): Promise<TurnResult> {
    opened.model.answer({ tokens: [answer] });
    const { status, json, text } = await postJson<TurnResult>(api("chat"), { user_id: userId, session_id: sessionId, message });
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  }
  const recall = async (query: string): Promise<string[]> => {
    const address = `users/${encodeURIComponent(userId)}/episodes?query=${encodeURIComponent(query)}`;
    const { status, json, text } = await callApi<{ episodes: { user_message: string }[] }>(api(address));
    expect({ status, text }).toMatchObject({ status: 200 });
    return json.episodes.map((one) => one.user_message);
  };
  const listed = async () =>
    (await callApi<{ conversations: { id: string; forked_from: unknown }[] }>(api(`conversations?user_id=${encodeURIComponent(userId)}`)))
      .json.conversations;
  return { userId, say, recall, listed };
}

test("a fork goes on by itself, names where it comes from, and is refused like any other address", async () => {
  const { say, listed } = person();
  const origin = await say("origin", "My boat is the Argo", "Noted.");
  await say("origin", "It is blue", "Nice.");
  const { status, json } = await fork(origin.conversation_id, { at: origin.message_id, session_id: "forked" });
  expect(status).toBe(201);
  const id = json.conversation_id;
  expect(await contents(id)).toEqual(["My boat is the Argo", "Noted."]);
  await say("forked", "It is green", "Nice, too.");
  expect(lastPrompt()).toMatch(/Argo.*green/);
  expect(lastPrompt()).not.toContain("blue");
  expect(await contents(origin.conversation_id)).toEqual(["My boat is the Argo", "Noted.", "It is blue", "Nice."]);
  const from = { conversation_id: origin.conversation_id, message_id: origin.message_id };
  expect((await listed()).map((one) => [one.id, one.forked_from])).toEqual([
    [id, from],
    [origin.conversation_id, null],
  ]);
  expectRefusal(await fork(origin.conversation_id, { session_id: "forked" }), { status: 409, code: "conversation_busy" });
  expectRefusal(await fork(origin.conversation_id, { at: uuidv7(), session_id: "other" }), { status: 404, code: "not_found", field: "at" });
  expectRefusal(await fork(origin.conversation_id, { at: "x", session_id: "other" }), {
    status: 400,
    code: "invalid_request",
    field: "at",
  });
  expectRefusal(await fork(origin.conversation_id, {}), { status: 400, code: "invalid_request", field: "session_id" });
  expectRefusal(await fork(uuidv7(), { session_id: "other" }), { status: 404, code: "not_found" });
});

test("recall finds each shared exchange once, the fork has its summary, and an erase of the origin takes both from it", async () => {
  const { say, recall } = person();
  const origin = await say("origin", "My sister Zelda keeps zeppelins", "Zeppelins, noted.");
  for (const n of [2, 3, 4, 5]) await say("origin", `Harbour number ${n}`, `Harbour ${n}, noted.`);
  expect((await settle(origin.conversation_id)).json).toMatchObject({ settled: true });
  const { json } = await fork(origin.conversation_id, { session_id: "forked" });
  const id = json.conversation_id;
  const { json: has } = await callApi<{ summary: { covered_message_count: number } | null }>(api(`conversations/${id}/summary`));
  expect(has.summary?.covered_message_count).toBeGreaterThan(0);
  await say("forked", "Which harbours?", "All of them.");
  expect((await settle(id)).json).toMatchObject({ settled: true });
  expect((await recall("Who keeps zeppelins, Zelda?")).filter((said) => said.includes("zeppelins"))).toHaveLength(1);
  const erased = await callApi(api(`conversations/${origin.conversation_id}`), { method: "DELETE" });
  expect(erased).toMatchObject({ status: 200, json: { erased: { messages: 10 }, forks: [id] } });
  expect(await contents(id)).toEqual(["Which harbours?", "All of them."]);
  expect((await recall("Who keeps zeppelins, Zelda?")).filter((said) => said !== "Which harbours?")).toEqual([]);
  const left = await callApi(api(`conversations/${id}/summary`));
  expect(left.text).not.toMatch(/Zelda|zeppelins/i);
  await say("forked", "And now?", "Now.");
  expect(lastPrompt()).not.toMatch(/Zelda|zeppelins/i);
});
