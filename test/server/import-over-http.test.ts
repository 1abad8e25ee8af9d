import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createParser } from "eventsource-parser";
import { callApi, listConversations, listMessages, postJson } from "../support/api-client.ts";
import { expectRefusal } from "../support/expect-refusal.ts";
import {
  importedTurns,
  openServiceWithEpisodes,
  type ImportedMessage,
  type ServiceWithEpisodes,
} from "../support/service-with-episodes.ts";

const SUMMARY_MODEL = "test-summary";
const ACME = { authorization: "Bearer acme-key-1" };
const BOLT = { authorization: "Bearer bolt-key-1" };

describe("POST /api/v1/conversations/import", () => {
  let running: ServiceWithEpisodes;
  beforeAll(async () => {
    running = await openServiceWithEpisodes({
      API_KEYS: "acme-key-1:acme,bolt-key-1:bolt",
      MAX_MESSAGE_CHARS: "1000",
      SUMMARY_MODEL,
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      SUMMARY_UPDATE_DELTA: "2",
    });
    running.model.answer(({ model, messages }) => ({
      tokens: model === SUMMARY_MODEL ? ["They spoke."] : ["re: ", messages.at(-1)?.content ?? ""],
    }));
  });
  afterAll(() => running.close());

  const body = (messages: unknown, fields: object = {}): object => ({
    user_id: "ada",
    session_id: crypto.randomUUID(),
    messages,
    ...fields,
  });
  const one = (fields: object = {}): object => ({ role: "user", content: "hello", ...fields });
  const sessionsOf = async (userId: string): Promise<string[]> =>
    (await listConversations(running.url, userId, ACME)).map(({ session_id }) => session_id);

  test("stores messages as they are, in the order of time, and lists them like live ones", async () => {
    const messages = [
      {
        role: "assistant",
        content: "好的。",
        created_at: "2024-03-05T12:01:00+08:00",
        metadata: { external_id: "m2", source: "elsewhere" },
      },
      { role: "user", content: "我喜欢绿色。\n  Green! ", created_at: "2024-03-05T04:00:00Z", metadata: { external_id: "m1" } },
    ];
    const imported = await running.bring("lists", messages, "s", ACME);
    expect(imported).toEqual({ conversation_id: expect.any(String), imported: 2, skipped: 0 });
    expect(await listMessages(running.url, imported.conversation_id, ACME)).toMatchObject([
      {
        role: "user",
        content: "我喜欢绿色。\n  Green! ",
        completed: true,
        created_at: "2024-03-05T04:00:00.000Z",
        metadata: { external_id: "m1" },
      },
      {
        role: "assistant",
        content: "好的。",
        created_at: "2024-03-05T04:01:00.000Z",
        metadata: { external_id: "m2", source: "elsewhere" },
      },
    ]);
    const [listed] = await listConversations(running.url, "lists", ACME);
    expect(listed).toMatchObject({ id: imported.conversation_id, session_id: "s", message_count: 2 });
    expect(await running.bring("lists", messages, "s", ACME)).toEqual({ ...imported, imported: 0, skipped: 2 });
  });

  test.each<[string, object, string]>([
    ["no user_id", { session_id: "s", messages: [one()] }, "user_id"],
    ["an empty session_id", body([one()], { session_id: "" }), "session_id"],
    ["no messages", body(undefined), "messages"],
    ["messages that are no list", body({ 0: one() }), "messages"],
    ["an empty list", body([]), "messages"],
    ["a message that is text", body([one(), "hello"]), "messages.1"],
    ["null for a message", body([null]), "messages.0"],
    ["a role that is none", body([one(), one({ role: "system" })]), "messages.1.role"],
    ["blank content", body([one(), one(), one(), one({ content: " \n\t" })]), "messages.3.content"],
    ["content that is no text", body([one({ content: [{ type: "text", text: "x" }] })]), "messages.0.content"],
    ["content with a NUL", body([one({ content: "a\0b" })]), "messages.0.content"],
    ["half a surrogate pair", body([one({ content: "a\ud83d" })]), "messages.0.content"],
    ["content that is far too long", body([one({ content: "x".repeat(2_001) })]), "messages.0.content"],
    ["a time that is none", body([one({ created_at: "yesterday" })]), "messages.0.created_at"],
    ["a day that is none", body([one({ created_at: "2024-02-30T12:00:00Z" })]), "messages.0.created_at"],
    ["a time without a zone", body([one({ created_at: "2024-02-03T12:00:00" })]), "messages.0.created_at"],
    ["a number for a time", body([one({ created_at: 1_706_702_400 })]), "messages.0.created_at"],
    ["metadata that is a list", body([one({ metadata: ["x"] })]), "messages.0.metadata"],
    ["metadata with a NUL", body([one({ metadata: { note: "a\0b" } })]), "messages.0.metadata"],
    ["metadata that is too long", body([one({ metadata: { note: "x".repeat(16_000) } })]), "messages.0.metadata"],
    ["an external id that is no text", body([one({ metadata: { external_id: 7 } })]), "messages.0.metadata"],
    ["an unknown field of a message", body([one(), one({ name: "Ada" })]), "messages.1.name"],
  ])("refuses %s, names the field and stores nothing of the whole request", async (_name, wrong, field) => {
    const before = await sessionsOf("ada");
    expectRefusal(await running.send(wrong, ACME), { status: 400, code: "invalid_request", field });
    expect(await sessionsOf("ada")).toEqual(before);
  });

  test("refuses an unknown field of the body, and names it", async () => {
    const refused = await running.send(body([one()], { tenant_id: "bolt" }), ACME);
    expectRefusal(refused, { status: 400, code: "invalid_request", says: /tenant_id/ });
  });

  test.each([
    "0000-06-01T12:00:00Z",
    "0999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
    "9000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
  ])("refuses a time that cannot be kept or counted on from: %s", async (created_at) => {
    const refused = await running.send(body([one({ created_at })]), ACME);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages.0.created_at", says: /years/ });
  });

  test("needs a key, a JSON body and POST", async () => {
    expectRefusal(await running.send(body([one()])), { status: 401, code: "unauthorized" });
    expectRefusal(await running.send("{", ACME), { status: 400, code: "invalid_request" });
    const typed = await running.send(JSON.stringify(body([one()])), { ...ACME, "content-type": "text/csv" });
    expectRefusal(typed, { status: 415, code: "unsupported_media_type" });
  });

  test("takes 10,000 messages in one call, and refuses one more", async () => {
    const many = (count: number): ImportedMessage[] =>
      Array.from({ length: count }, (_, number) => ({
        role: "user",
        content: `message ${number}`,
        metadata: { external_id: `${number}` },
      }));
    expect(await running.bring("many", many(10_000), "s", BOLT)).toMatchObject({ imported: 10_000, skipped: 0 });
    expect(await running.bring("many", many(10_000), "s", BOLT)).toMatchObject({ imported: 0, skipped: 10_000 });
    const refused = await running.send(body(many(10_001)), BOLT);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages", says: /10000|10,000/ });
  });

  /** The events of an import that asks for a stream. */
  async function stream(
    messages: unknown,
    sessionId: string,
  ): Promise<{ status: number; events: { id: string | undefined; data: unknown }[] }> {
    const response = await fetch(`${running.url}/api/v1/conversations/import`, {
      method: "POST",
      headers: { ...ACME, "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ user_id: "ada", session_id: sessionId, messages }),
    });
    const events: { id: string | undefined; data: unknown }[] = [];
    const parser = createParser({ onEvent: ({ id, data }) => void events.push({ id, data: JSON.parse(data) as unknown }) });
    const text = await response.text();
    parser.feed(text);
    expect(response.headers.get("content-type")).toMatch(response.ok ? /^text\/event-stream/ : /^application\/json/);
    return { status: response.status, events };
  }

  test("streams its progress to who asks for events, and ends with exactly one done", async () => {
    const messages = Array.from({ length: 1_200 }, (_, number) => ({ role: "user", content: `message ${number}` }));
    const { events } = await stream(messages, "streamed");
    expect(events.map(({ data }) => data)).toEqual([
      { status: "progress", content: { done: 500, total: 1_200 } },
      { status: "progress", content: { done: 1_000, total: 1_200 } },
      { status: "progress", content: { done: 1_200, total: 1_200 } },
      { status: "done", content: { conversation_id: expect.any(String), imported: 1_200, skipped: 0 } },
    ]);
    expect(events.map(({ id }) => id)).toEqual(["1", "2", "3", "4"]);
  });

  test("ends the stream of an import that fails with one error, while a wrong body is refused before it begins", async () => {
    running.model.answer({ tokens: ["slow"], firstTokenMs: 60_000 });
    const leaving = new AbortController();
    const turn = { user_id: "ada", session_id: "taken", message: "hold it" };
    const request = {
      method: "POST",
      headers: { ...ACME, "content-type": "application/json" },
      body: JSON.stringify(turn),
      signal: leaving.signal,
    };
    const response = await fetch(`${running.url}/api/v1/chat/stream`, request);
    await response.body?.getReader().read();
    const { status, events } = await stream([one()], "taken");
    const error = { code: "conversation_busy", message: expect.stringContaining("taken"), retryable: true };
    expect({ status, events: events.map(({ data }) => data) }).toEqual({ status: 200, events: [{ status: "error", content: error }] });
    expectRefusal(await running.send(body([one()], { session_id: "taken" }), ACME), { status: 409, code: "conversation_busy" });
    leaving.abort();
    running.model.answer(({ model, messages }) => ({
      tokens: model === SUMMARY_MODEL ? ["They spoke."] : ["re: ", messages.at(-1)?.content ?? ""],
    }));
    expect((await stream([], "wrong")).status).toBe(400);
  });

  test("gives a tenant its own conversation of the same user and session, which the other sees nothing of", async () => {
    const turns = importedTurns([["My code word is heron.", "Noted."]]);
    const [acme, bolt] = [await running.bring("eve", turns, "s", ACME), await running.bring("eve", turns.slice(0, 1), "s", BOLT)];
    expect(bolt.conversation_id).not.toBe(acme.conversation_id);
    await running.settle(acme.conversation_id, ACME);
    const address = `${running.url}/api/v1/conversations/${acme.conversation_id}/messages`;
    expect((await callApi(address, { headers: BOLT })).status).toBe(404);
    expect((await running.episodes("eve", { query: "code word" }, BOLT)).json.episodes).toEqual([]);
    expect((await running.episodes("eve", { query: "code word" }, ACME)).json.episodes).toHaveLength(1);
    expect((await running.say("eve", "What is my code word?", "other", BOLT)).receipt.episodes).toEqual([]);
  });

  test("of older messages has the summary made anew: after settle all but the window is covered again", async () => {
    interface Summary {
      summary: { version: number; covered_message_count: number; text: string } | null;
    }
    const turns = (count: number, at: string): ImportedMessage[] =>
      importedTurns(
        Array.from({ length: count }, (_, number) => [`asked ${number}`, `answered ${number}`] as const),
        at,
      );
    const { conversation_id: id } = await running.bring("covered", turns(4, "2024-03-05T12:00:00Z"), "s", ACME);
    const summary = async (): Promise<Summary["summary"]> =>
      (await callApi<Summary>(`${running.url}/api/v1/conversations/${id}/summary`, { headers: ACME })).json.summary;
    expect(await running.settle(id, ACME)).toEqual({ settled: true, pending: 0 });
    const first = await summary();
    expect(first).toMatchObject({ covered_message_count: 6 });
    await running.bring("covered", turns(3, "2024-01-01T12:00:00Z"), "s", ACME);
    expect(await running.settle(id, ACME)).toEqual({ settled: true, pending: 0 });
    const second = await summary();
    expect(second).toMatchObject({ covered_message_count: 12 });
    expect(second?.version).toBeGreaterThan((first?.version ?? 0) + 1);
    const asked = running.model.seen
      .filter(({ body: { model } }) => model === SUMMARY_MODEL)
      .map(({ body: { messages } }) => messages.at(-1)?.content ?? "")
      .findLast((content) => content.includes("answered")); // other conversations may still be summarised
    expect(asked).toContain("answered 2");
    const found = (await running.episodes("covered", { query: "asked 2 answered", limit: "100" }, ACME)).json.episodes;
    expect(found).toHaveLength(7);
    const { status } = await postJson(`${running.url}/api/v1/chat`, { user_id: "covered", session_id: "s", message: "go on" }, ACME);
    expect(status).toBe(200);
  });
});
