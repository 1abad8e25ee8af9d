import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, listMessages, postJson } from "../../support/clients/api-client.ts";
import { postTurn, type ReceivedEvent } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { importedTurns, openServiceWithEpisodes, type ImportedMessage } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";

const SUMMARY_MODEL = "test-summary";
const ACME = { authorization: "Bearer acme-key-1" };

describe("POST /api/v1/conversations/import", () => {
  const running = useOpened(() =>
    openServiceWithEpisodes({
      API_KEYS: "acme-key-1:acme",
      MAX_MESSAGE_CHARS: "1000",
      SUMMARY_MODEL,
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      SUMMARY_UPDATE_DELTA: "2",
    }),
  );
  beforeEach(() => running.model.answer(({ model }) => ({ tokens: [model === SUMMARY_MODEL ? "They spoke." : "An answer."] })));

  const body = (messages: unknown, fields: object = {}): object => {
    return { user_id: "ada", session_id: crypto.randomUUID(), messages, ...fields };
  };
  const one = (fields: object = {}): object => ({ role: "user", content: "hello", ...fields });

  test("stores messages as they are, in the order of time, and lists them like live ones", async () => {
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

  test("has messages without a partner remembered too, each of which can be erased alone", async () => {
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

  test("needs a key, a JSON body and POST", async () => {
    expectRefusal(await running.send(body([one()])), { status: 401, code: "unauthorized" });
    expectRefusal(await running.send("{", ACME), { status: 400, code: "invalid_request" });
    const typed = await running.send(JSON.stringify(body([one()])), { ...ACME, "content-type": "text/csv" });
    expectRefusal(typed, { status: 415, code: "unsupported_media_type" });
  });

  test("takes 10,000 messages in one call, and refuses one more", async () => {
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

  test("streams its progress to who asks for events, and ends with exactly one done", async () => {
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

  test("ends the stream of an import that fails with one error, while a wrong body is refused before it begins", async () => {
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
