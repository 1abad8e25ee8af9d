import { describe, expect, test } from "@jest/globals";
import { callApi, listConversations, listMessages } from "../../../support/clients/api-client.ts";
import { postTurn, type ReceivedEvent } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useServiceWithEpisodes, type ImportedMessage } from "../../../support/services/service-with-episodes.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { holdConversations } from "../../../support/databases/hold-conversations.ts";
import { connectTo, parseChunkedResponse, postBytes } from "../../../support/clients/raw-connection.ts";
import { openTestService } from "../../../support/services/service.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const ACME = { authorization: "Bearer acme-key-1" };
describe("POST /api/v1/conversations/import", () => {
  const running = useServiceWithEpisodes({ API_KEYS: "acme-key-1:acme", MAX_MESSAGE_CHARS: "1000" });

  const body = (messages: unknown, fields: object = {}): object => {
    return { user_id: "ada", session_id: crypto.randomUUID(), messages, ...fields };
  };
  const one = (fields: object = {}): object => ({ role: "user", content: "hello", ...fields });

  test("stores messages unchanged in the order of their time, and lists them like messages of turns", async () => {
    const [first, second] = [{ external_id: "m1" }, { external_id: "m2", source: "elsewhere" }];
    const [asked, answer] = ["我喜欢绿色。\n  Green! ", "好的。"];
    const messages = [
      { role: "assistant", content: answer, created_at: "2024-03-05T12:01:00+08:00", metadata: second },
      { role: "user", content: asked, created_at: "2024-03-05T04:00:00Z", metadata: first },
    ];
    const imported = await running.bring("lists", messages, "s", ACME);
    expect(imported).toEqual({ conversation_id: expect.any(String), imported: 2, skipped: 0, exchanges: 1, invalid: [] });
    expect(await listMessages(running.url, imported.conversation_id, ACME)).toMatchObject([
      { role: "user", content: asked, completed: true, created_at: "2024-03-05T04:00:00.000Z", metadata: first },
      { role: "assistant", content: answer, created_at: "2024-03-05T04:01:00.000Z", metadata: second },
    ]);
    const [listed] = await listConversations(running.url, "lists", ACME);
    expect(listed).toMatchObject({ id: imported.conversation_id, session_id: "s", message_count: 2 });
    expect(await running.bring("lists", messages, "s", ACME)).toEqual({ ...imported, imported: 0, skipped: 2, exchanges: 0 });
  });

  test("remembers a message without its question or answer, too, and each can be erased alone", async () => {
    const at = (minute: number): string => `2024-05-01T10:0${minute}:00Z`;
    const messages: ImportedMessage[] = [
      { role: "assistant", content: "Welcome! The zebra tour starts at nine.", created_at: at(0) },
      { role: "user", content: "Is the giraffe house open?", created_at: at(1) },
      { role: "user", content: "And the penguins?", created_at: at(2) },
      { role: "assistant", content: "They are open until six.", created_at: at(3) },
    ];
    const imported = await running.bring("alone", messages, "s", ACME);
    expect(imported).toMatchObject({ imported: 4, exchanges: 3 });
    await running.settle(imported.conversation_id, ACME);
    const find = async (query: string) => (await running.episodes("alone", { query, limit: "1" }, ACME)).json.episodes[0];
    const [zebra, giraffe, penguins] = [await find("zebra tour"), await find("giraffe house"), await find("penguins")];
    expect(zebra).toMatchObject({ user_message: "", assistant_message: messages[0]?.content, message_ids: [zebra?.id] });
    expect(giraffe).toMatchObject({ user_message: messages[1]?.content, assistant_message: "", message_ids: [giraffe?.id] });
    expect(penguins).toMatchObject({ user_message: messages[2]?.content, assistant_message: messages[3]?.content });
    const erase = (id: string | undefined) =>
      callApi<{ erased: { messages: number } }>(`${running.url}/api/v1/users/alone/episodes/${id}`, { method: "DELETE", headers: ACME });
    expect((await erase(penguins?.message_ids[1])).status).toBe(404); // an answer is erased with its question
    expect((await erase(zebra?.id)).json.erased.messages).toBe(1);
    expect((await erase(giraffe?.id)).json.erased.messages).toBe(1);
    const left = await listMessages(running.url, imported.conversation_id, ACME);
    expect(left.map(({ content }) => content)).toEqual(["And the penguins?", "They are open until six."]);
    const { json } = await running.episodes("alone", { query: "zebra giraffe penguins tour house open", limit: "9" }, ACME);
    expect(json.episodes.map(({ id }) => id)).toEqual([penguins?.id]);
  });

  test("needs a key, a JSON body and the method POST", async () => {
    expectRefusal(await running.send(body([one()])), { status: 401, code: "unauthorized" });
    expectRefusal(await running.send("{", ACME), { status: 400, code: "invalid_request" });
    const typed = await running.send(JSON.stringify(body([one()])), { ...ACME, "content-type": "text/csv" });
    expectRefusal(typed, { status: 415, code: "unsupported_media_type" });
  });

  test("takes 10,000 messages in one call, and refuses 10,001", async () => {
    const many = (count: number): ImportedMessage[] =>
      Array.from({ length: count }, (_, index) => ({ role: "user", content: `message ${index}`, metadata: { external_id: `${index}` } }));
    expect(await running.bring("many", many(10_000), "s", ACME)).toMatchObject({ imported: 10_000, skipped: 0 });
    expect(await running.bring("many", many(10_000), "s", ACME)).toMatchObject({ imported: 0, skipped: 10_000 });
    const refused = await running.send(body(many(10_001)), ACME);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages", says: /10000|10,000/ });
  });

  /** The events of an import that asks for a stream. */
  async function stream(messages: unknown, sessionId: string): Promise<{ status: number; events: ReceivedEvent[] }> {
    const { status, headers, events } = await postTurn(running.url, body(messages, { session_id: sessionId }), {
      path: "/api/v1/conversations/import",
      headers: { ...ACME, accept: "text/event-stream" },
    });
    expect(headers.get("content-type")).toMatch(status === 200 ? /^text\/event-stream/ : /^application\/json/);
    return { status, events };
  }

  test('streams its progress to a client that asks for events, and ends with exactly one "done"', async () => {
    const messages = Array.from({ length: 1_200 }, (_, number) => ({ role: "user", content: `message ${number}` }));
    const { events } = await stream(messages, "streamed");
    expect(events.map(({ data }) => data)).toEqual([
      { status: "progress", content: { done: 500, total: 1_200, exchanges: 500 } },
      { status: "progress", content: { done: 1_000, total: 1_200, exchanges: 1_000 } },
      { status: "progress", content: { done: 1_200, total: 1_200, exchanges: 1_200 } },
      { status: "done", content: { conversation_id: expect.any(String), imported: 1_200, skipped: 0, exchanges: 1_200, invalid: [] } },
    ]);
    expect(events.map(({ id }) => id)).toEqual(["1", "2", "3", "4"]);
  });

  test('ends its stream with one "error" when the import fails, and refuses a wrong body before the stream begins', async () => {
    running.model.answer({ tokens: ["slow"], firstTokenMs: 60_000 });
    const leaving = new AbortController();
    const turn = JSON.stringify({ user_id: "ada", session_id: "taken", message: "hold it" });
    const headers = { ...ACME, "content-type": "application/json" };
    const response = await fetch(`${running.url}/api/v1/chat/stream`, { method: "POST", headers, body: turn, signal: leaving.signal });
    await response.body?.getReader().read();
    const { status, events } = await stream([one()], "taken");
    const error = { code: "conversation_busy", message: expect.stringContaining("taken"), retryable: true };
    expect({ status, events: events.map(({ data }) => data) }).toEqual({ status: 200, events: [{ status: "error", content: error }] });
    expectRefusal(await running.send(body([one()], { session_id: "taken" }), ACME), { status: 409, code: "conversation_busy" });
    leaving.abort();
    expect((await stream([], "wrong")).status).toBe(400);
  });

  const sessionsOf = async (userId: string): Promise<string[]> =>
    (await listConversations(running.url, userId, ACME)).map(({ session_id }) => session_id);

  test.each<[string, object, string]>([
    ["no user_id", { session_id: "s", messages: [one()] }, "user_id"],
    ["an empty session_id", body([one()], { session_id: "" }), "session_id"],
    ["no messages", body(undefined), "messages"],
    ["messages that are no list", body({ 0: one() }), "messages"],
    ["an empty list", body([]), "messages"],
    ["a message that is text", body([one(), "hello"]), "messages.1"],
    ["null for a message", body([null]), "messages.0"],
    ["an unknown role", body([one(), one({ role: "system" })]), "messages.1.role"],
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
    ["an unknown field of the body", body([one()], { tenant_id: "bolt" }), "tenant_id"],
    ["an unknown field of a message", body([one(), one({ name: "Ada" })]), "messages.1.name"],
  ])("refuses %s with the field's name, and stores nothing of the whole request", async (_name, wrong, field) => {
    const before = await sessionsOf("ada");
    expectRefusal(await running.send(wrong, ACME), { status: 400, code: "invalid_request", field });
    expect(await sessionsOf("ada")).toEqual(before);
  });

  test.each(["0000-06-01T12:00:00Z", "0999-12-31T23:59:59Z", "9000-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"])(
    "refuses the time %s, which cannot be stored or used in calculations",
    async (created_at) => {
      const refused = await running.send(body([one({ created_at })]), ACME);
      expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages.0.created_at", says: /years/ });
    },
  );

  test("refuses a time that is more than a day ahead, and takes one that a wrong time zone may explain", async () => {
    const ahead = (hours: number): string => new Date(Date.now() + hours * 60 * 60 * 1_000).toISOString();
    const refused = await running.send(body([one(), one({ created_at: ahead(25) })]), ACME);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages.1.created_at", says: /a day ahead/ });
    expect((await running.send(body([one({ created_at: ahead(23) })]), ACME)).status).toBe(200);
  });

  test("names every wrong message by its index, however many there are", async () => {
    const wrong = Array.from({ length: 80 }, () => one({ content: "x".repeat(1_001) }));
    const { status, json } = await running.send(body([one(), ...wrong, one({ role: "system", content: " " })]), ACME);
    const { details } = (json as unknown as { error: { details: { index: number; field: string; problem: string }[] } }).error;
    expect(status).toBe(400);
    expect(details.map(({ index, field }) => [index, field])).toEqual([
      ...wrong.map((_, number) => [number + 1, `messages.${number + 1}.content`]),
      [81, "messages.81.role"],
      [81, "messages.81.content"],
    ]);
    expect(details[0]?.problem).toMatch(/1001 characters, at most 1000/);
  });

  test("leaves out wrong messages on request, and lists them in its answer", async () => {
    const long = one({ role: "assistant", content: "x".repeat(1_001) });
    const messages = [one(), long, "hello", one({ role: "assistant", content: "Good day." })];
    const { json } = await running.send(body(messages, { on_invalid: "skip" }), ACME);
    expect(json).toEqual({
      conversation_id: expect.any(String),
      imported: 2,
      skipped: 0,
      exchanges: 1,
      invalid: [
        { index: 1, field: "messages.1.content", problem: expect.stringContaining("1001 characters") },
        { index: 2, field: "messages.2", problem: expect.stringContaining("object") },
      ],
    });
    const before = await sessionsOf("ada");
    const refusal = { status: 400, code: "invalid_request" };
    expectRefusal(await running.send(body(["hello"], { on_invalid: "skip" }), ACME), { ...refusal, field: "messages.0" });
    expectRefusal(await running.send(body([one()], { on_invalid: "leave" }), ACME), { ...refusal, field: "on_invalid" });
    expect(await sessionsOf("ada")).toEqual(before);
  });
});

const HEARTBEAT = ": heartbeat\n\n";
describe("an import's stream", () => {
  const database = useTestPostgres();
  const service = useOpened(() => openTestService({ DATABASE_URL: database.url }, { heartbeatMs: 50 }));

  test("has the headers of an unbuffered event stream, and sends heartbeats without an id while the import waits", async () => {
    const held = await holdConversations(database.url);
    const connection = await connectTo(service.url);
    const body = { user_id: "ada", session_id: "s", messages: [{ role: "user", content: "hello" }] };
    connection.socket.write(postBytes("/api/v1/conversations/import", body, { accept: "text/event-stream" }));
    await waitUntil("three heartbeats", () => connection.received().split(HEARTBEAT).length > 3);
    await held.release();
    await connection.until("\r\n0\r\n\r\n");
    connection.socket.destroy();
    const { headers, chunks } = parseChunkedResponse(connection.received());
    expect(headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const events = chunks.join("").replaceAll(HEARTBEAT, "");
    expect([...events.matchAll(/^id: (\d+)\ndata: \{"status":"(\w+)"/gm)].map(([, id, status]) => [id, status])).toEqual([
      ["1", "progress"],
      ["2", "done"],
    ]);
    expect(events).not.toMatch(/^:/m);
  });

  test("ends with the whole list of wrong messages, however long it is", async () => {
    const invalid = Array.from({ length: 3_000 }, () => ({ role: "nobody", content: "" }));
    const messages = [...invalid, { role: "user", content: "hello" }];
    const response = await fetch(`${service.url}/api/v1/conversations/import`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ user_id: "bea", session_id: "s", on_invalid: "skip", messages }),
    });
    const last = (await response.text()).replaceAll(HEARTBEAT, "").trimEnd().split("\ndata: ").at(-1) ?? "";
    const { status, content } = JSON.parse(last) as { status: string; content: { imported: number; invalid: unknown[] } };
    expect({ status, imported: content.imported }).toEqual({ status: "done", imported: 1 });
    expect(content.invalid.length).toBeGreaterThanOrEqual(invalid.length);
  });
});
