import { describe, expect, test, beforeEach } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, type BegunTurn, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel, openServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { responseId } from "../../../server/openai/responses/response-ids.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { MODEL, says } from "../openai/open-client.ts";

const TENTHS = (count: number): object => ({ tokens: Array.from({ length: count }, () => "word "), betweenMs: 100 });
const BUSY = { status: 409, code: "conversation_busy", says: /still answering.*"on_busy": "enqueue"/ };
const QUEUED = { on_busy: "enqueue" };
describe("a conversation with a running turn", () => {
  // With a lease that no pause of a busy machine outlasts: nothing here waits for its end.
  const running = useServiceWithModel({}, { heartbeatMs: 50 });

  const ask = (sessionId: string, message: string, fields: object = {}): object => ({
    user_id: "ada",
    session_id: sessionId,
    message,
    ...fields,
  });
  const begin = (sessionId: string, message: string, fields: object = {}): Promise<BegunTurn> =>
    beginTurn(running.url, ask(sessionId, message, fields));
  const post = (body: object, path = "/api/v1/chat") => postJson(running.url + path, body);
  const contents = async (sessionId: string) => (await messagesOf(running.url, "ada", sessionId)).map(({ content }) => content);
  const done = async ({ ended }: BegunTurn) => contentOf((await ended).events, "done");

  test("refuses a second turn and stores nothing of it, while other conversations are answered", async () => {
    const release = running.model.hold(["first answer"]);
    const first = await begin("busy", "first");
    expectRefusal(await post(ask("busy", "second"), "/api/v1/chat/stream"), BUSY);
    expectRefusal(await post(ask("busy", "third", { on_busy: "refuse" })), BUSY);
    running.model.answer({ tokens: ["at once"] });
    for (const other of [ask("other", "hello"), { ...ask("busy", "hello"), user_id: "grace" }])
      expect((await post(other)).status).toBe(200);
    release();
    expect((await done(first)).completed).toBe(true);
    expect(await contents("busy")).toEqual(["first", "first answer"]);
  });

  test("keeps the connection of a waiting client alive with heartbeats", async () => {
    const release = running.model.hold();
    const first = await begin("heartbeat", "first");
    const waiting = await connectTo(running.url);
    waiting.socket.write(postBytes("/api/v1/chat/stream", ask("heartbeat", "second", QUEUED)));
    await waitUntil("three heartbeats", () => waiting.received().split(": heartbeat\n\n").length > 3);
    expect(waiting.received()).not.toContain('"token"');
    release();
    await done(first);
    await waiting.until('"status":"done"');
    waiting.socket.destroy();
    expect(await contents("heartbeat")).toHaveLength(4);
  });

  test("forgets waiting turns whose clients leave, at any place in the line, and takes the others", async () => {
    running.model.answer(({ messages }) => (messages.at(-1)?.content === "first" ? TENTHS(15) : { tokens: ["answer"] }));
    const turns = [await begin("left", "first")];
    for (const message of ["second, who leaves", "third", "fourth, who leaves", "fifth"]) {
      const turn = await begin("left", message, QUEUED);
      if (message.endsWith("leaves")) turn.leave();
      else turns.push(turn);
    }
    for (const turn of turns) expect((await done(turn)).completed).toBe(true);
    expect((await contents("left")).filter((_, index) => index % 2 === 0)).toEqual(["first", "third", "fifth"]);
    expect(running.model.seen.filter(({ body }) => body.messages.at(-1)?.content.includes("who leaves"))).toEqual([]);
  });

  test("can be deleted, and a waiting turn then begins it anew", async () => {
    running.model.answer(TENTHS(30));
    const first = await begin("deleted", "first");
    const second = await begin("deleted", "second", QUEUED);
    running.model.answer({ tokens: ["answer"] });
    const listed = (await listConversations(running.url, "ada")).find(({ session_id }) => session_id === "deleted");
    await callApi(`${running.url}/api/v1/conversations/${listed?.id}`, { method: "DELETE" });
    expect(contentOf((await first.ended).events, "error").code).toBe("turn_superseded");
    expect((await done(second)).completed).toBe(true);
    expect(await contents("deleted")).toEqual(["second", "answer"]);
  });
});

/** More than a turn waits for before it asks again. */
const SECONDS = 47;
const turn = { user_id: "ada", message: "Hello!" };
const openai = { model: MODEL, user: "ada" };
const completion = { ...openai, messages: [says("Hello!")] };
const response = { ...openai, input: "Hello!" };
describe("a turn whose model's server is overloaded", () => {
  const postgres = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: postgres.url }));
  const overload = (headers: Record<string, string> = {}): void => running.model.answer({ status: 503, headers });
  beforeEach(() => overload({ "retry-after": String(SECONDS) }));

  const inNewSession = (body: object): object => ({ session_id: crypto.randomUUID(), ...body });

  const routes: [what: string, route: string, body: object][] = [
    ["a turn", "/api/v1/chat", inNewSession(turn)],
    ["a completion", "/v1/chat/completions", completion],
    ["a streamed completion", "/v1/chat/completions", { ...completion, stream: true }],
    ["a response", "/v1/responses", response],
    ["a streamed response", "/v1/responses", { ...response, stream: true }],
  ];

  test.each(routes)("gives the server's own Retry-After for %s", async (_what, route, body) => {
    const { status, headers } = await postJson(running.url + route, body);
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter: String(SECONDS) });
  });

  test.each(routes)("gives a Retry-After of 1 when the server names none, for %s", async (_what, route, body) => {
    overload();
    const { status, headers } = await postJson(running.url + route, body);
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter: "1" });
  });

  test("shows the seconds to wait in its stream and in its stored error", async () => {
    const { events, headers } = await postTurn(running.url, inNewSession(turn));
    const error = contentOf(events, "error");
    expect(error).toMatchObject({ code: "model_unavailable", retryable: true, retry_after_seconds: SECONDS });
    const turnId = headers.get("x-turn-id") ?? "";
    expect((await getTurn(running.url, turnId)).json.error).toEqual(error);
    expect(contentOf((await streamTurn(running.url, turnId)).events, "error")).toEqual(error);
  });

  test.each([
    ["with seconds", SECONDS, String(SECONDS)],
    ["without seconds, as earlier versions store it", undefined, "1"],
  ])("repeats its error from a stored outcome %s", async (_what, seconds, retryAfter) => {
    overload();
    const failed = await postTurn(running.url, inNewSession(turn));
    const turnId = failed.headers.get("x-turn-id") ?? "";
    const error = { code: "model_unavailable", message: "It is overloaded.", retryable: true, retry_after_seconds: seconds };
    const text = "update turns set outcome = jsonb_set(outcome, '{error}', $2) where id = $1";
    await postgres.query({ text, values: [turnId, JSON.stringify(error)] });
    const told = contentOf((await streamTurn(running.url, turnId)).events, "error");
    expect(told).toEqual(JSON.parse(JSON.stringify(error)));
    const address = `${running.url}/v1/responses/${responseId({ turnId, leg: 1 })}?stream=true`;
    const { status, headers } = await fetch(address, { headers: { "x-user-id": "ada" } });
    expect({ status, retryAfter: headers.get("retry-after") }).toEqual({ status: 503, retryAfter });
  });
});
