import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../server/settings/config.ts";
import { makeLogger } from "../../../observe/logger.ts";
import { serve } from "../../../server/service/open-service.ts";
import { callApi, postJson, listConversations, listMessages, messagesOf } from "../../support/clients/api-client.ts";
import { postTurn, contentOf, tokenText } from "../../support/clients/event-client.ts";
import { type ModelServer, startModelServer } from "../../servers/model-server.ts";
import { createRealDatabase, useTestPostgres } from "../../support/databases/databases.ts";
import { NO_LIMITS } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { gzipSync } from "node:zlib";
import { useServiceWithModel, openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
describe("the id of a request", () => {
  const lines: Record<string, unknown>[] = [];
  let model: ModelServer;
  let service: Awaited<ReturnType<typeof serve>>;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const destination = new Writable({
      write(text: Buffer, _encoding, done) {
        lines.push(JSON.parse(text.toString()) as Record<string, unknown>);
        done();
      },
    });
    const settings = { PORT: "0", DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ENABLE_EPISODIC_MEMORY: "false" };
    service = await serve(parseConfig({ ...NO_LIMITS, ...settings }), makeLogger("debug", destination));
  });
  afterAll(async () => {
    await service.close();
    await Promise.all([model.close(), database.drop()]);
  });

  const turn = (message = "hello"): object => ({ user_id: "ada", session_id: "s", message });
  const linesOf = (id: string): unknown[] => lines.filter(({ request_id }) => request_id === id).map(({ msg }) => msg);

  test("is sent back with every answer, error and stream, and is made by the service when the client sends none", async () => {
    const idOf = async (answer: Promise<{ headers: Headers }>) => (await answer).headers.get("x-request-id");
    const headers = { "x-request-id": "client-1" };
    for (const answer of [
      callApi(`${service.url}/healthz`, { headers }),
      callApi(`${service.url}/nowhere`, { headers }),
      postJson(`${service.url}/api/v1/chat`, "{", headers),
      postTurn(service.url, turn(), { headers }),
    ]) {
      expect(await idOf(answer)).toBe("client-1");
    }
    expect(await idOf(callApi(`${service.url}/nowhere`))).toMatch(UUID);
    expect(await idOf(callApi(`${service.url}/nowhere`, { headers: { "x-request-id": "two words" } }))).toMatch(UUID);
  });

  test("stands in its turn's log lines beside the turn's id, and no log line has what was said", async () => {
    const done = await postTurn(service.url, turn("my Zwiebelkuchen"), { headers: { "x-request-id": "good" } });
    model.answer({ status: 401 });
    const failed = await postTurn(service.url, turn("your Zwiebelkuchen"), { headers: { "x-request-id": "bad" } });
    await waitUntil("both lines", () => linesOf("bad").length === 2);
    expect(linesOf("good")).toEqual(["turn done", "request ended"]);
    expect(linesOf("bad")).toEqual(["turn failed", "request ended"]);
    const turns = lines.filter(({ msg, request_id }) => /^turn/.test(String(msg)) && ["good", "bad"].includes(String(request_id)));
    expect(turns.map(({ turn_id }) => turn_id)).toEqual([done, failed].map(({ headers }) => headers.get("x-turn-id")));
    expect(JSON.stringify(lines)).not.toContain("Zwiebelkuchen");
  });

  test("stands in no log line of a job, which belongs to no request", async () => {
    model.answer({ tokens: ["well"] });
    await postTurn(service.url, turn(), { headers: { "x-request-id": "with-a-job" } });
    await waitUntil("a job", () => lines.some(({ msg }) => msg === "job ran"));
    const jobs = lines.filter(({ msg }) => String(msg).startsWith("job "));
    expect(jobs.filter((line) => "request_id" in line)).toEqual([]);
  });

  test("keeps apart the log lines of requests that run at the same time", async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `side-${index}`);
    await Promise.all(ids.map((id) => postTurn(service.url, { ...turn(), user_id: id }, { headers: { "x-request-id": id } })));
    await waitUntil("all lines", () => ids.every((id) => linesOf(id).length === 2));
    for (const id of ids) expect(linesOf(id)).toEqual(["turn done", "request ended"]);
  });
});

const FACE = "\u{1F600}";
/** Texts that layers below could change, cut, or take for something else. */
const TEXTS: [name: string, text: string][] = [
  ["emoji of four bytes and more", "👩‍👩‍👧‍👦 𝒳 🏳️‍🌈 \u{10FFFF}"],
  ["right-to-left text with marks of direction", "שלום \u202eעולם\u202c مرحبا \u200f(x)"],
  ["Chinese and English", "刚才提到的导演 that director，你好"],
  ["combining marks, not composed", "e\u0301 и\u0306 \u1112\u1161\u11ab"],
  ["line ends and separators", "a\r\nb\nc\rd\u2028e\u2029f\u0085g"],
  ["control characters", "\u0001\u0008\u001b[31m\u007f"],
  ["a byte order mark and characters of no meaning", "\ufeffx\ufffe\uffff\ufffd"],
  ["white space around", "  \t padded \u00a0 "],
  ["what looks like SQL", "'); drop table messages; -- $1 ${x} %s ?"],
  ["what looks like an escape", "\\u0000 \\x00 \\ud83d %00 &#0;"],
  ["what looks like an event", "\n\ndata: {}\n\nid: 9\n"],
];
describe("text of any script", () => {
  const running = useServiceWithModel();

  /** Says something, and the model answers with these tokens; what the client and the store have then. */
  async function exchange(userId: string, sessionId: string, message: string, tokens: string[]) {
    running.model.answer({ tokens });
    const { status, events } = await postTurn(running.url, { user_id: userId, session_id: sessionId, message });
    return { status, events, stored: await messagesOf(running.url, userId, sessionId) };
  }

  test.each(TEXTS)("is stored byte for byte: %s", async (_name, text) => {
    const { events, stored } = await exchange(text, `${text}-session`, text, [text, text]);
    const done = contentOf(events, "done");
    expect([tokenText(events), done.answer]).toEqual([text + text, text + text]);
    expect(running.model.seen.at(-1)?.body.messages.at(-1)).toEqual({ role: "user", content: text });
    expect(stored.map(({ content }) => content)).toEqual([text, text + text]);
    const listed = await listConversations(running.url, text);
    expect(listed).toEqual([expect.objectContaining({ id: done.conversation_id, session_id: `${text}-session` })]);
  });

  test("may be an id of up to 200 characters, and an emoji counts as one", async () => {
    const { status, stored } = await exchange(FACE.repeat(200), FACE.repeat(200), "x", ["fine"]);
    expect([status, stored.length]).toEqual([200, 2]);
  });

  test("may be as long as the limit, even when every character is escaped", async () => {
    running.model.answer({ tokens: ["fine"] });
    const escaped = "\\ud83d\\ude00".repeat(32_000);
    const { status, events } = await postTurn(running.url, `{"user_id":"limit","session_id":"s","message":"${escaped}"}`);
    expect(status).toBe(200);
    const [question] = await listMessages(running.url, contentOf(events, "done").conversation_id);
    expect(question?.content === FACE.repeat(32_000)).toBe(true);
  });

  test("is read from a compressed body", async () => {
    running.model.answer({ tokens: ["fine"] });
    const body = new Uint8Array(gzipSync(JSON.stringify({ user_id: "gzip", session_id: "s", message: "你好" })));
    const headers = { "content-type": "application/json; charset=utf-8", "content-encoding": "gzip" };
    expect((await callApi(`${running.url}/api/v1/chat`, { method: "POST", headers, body })).status).toBe(200);
    expect((await messagesOf(running.url, "gzip", "s"))[0]?.content).toBe("你好");
  });

  test("makes different ids when a single byte differs, as in composed, decomposed, small and capital letters", async () => {
    const ids = ["\u00e9", "e\u0301", "E", "e", "e "];
    for (const id of ids) expect((await exchange("bytes", id, id, ["fine"])).stored.map(({ content }) => content)).toEqual([id, "fine"]);
    await exchange("\u00e9", "own", "x", ["fine"]);
    expect(await listConversations(running.url, "e\u0301")).toEqual([]);
  });
});

const INTERNAL = { status: 500, code: "internal_error", says: /^Something failed inside the service\. The log has the details/ };
describe("an unexpected failure", () => {
  const postgres = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: postgres.url, TURN_LEASE_MS: "1000" }));
  beforeAll(() => running.model.answer({ tokens: ["one ", "two "], betweenMs: 300 }));

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const hideMessages = () => postgres.query({ text: "alter table messages rename to hidden" });
  const showMessages = () => postgres.query({ text: "alter table hidden rename to messages" });

  test("gives a 500 without a word about its cause, and the service goes on", async () => {
    await postTurn(running.url, ask("before"));
    const [conversation] = await listConversations(running.url, "ada");
    await hideMessages();
    for (const refused of [
      await postJson(`${running.url}/api/v1/chat/stream`, ask("failed")),
      await postJson(`${running.url}/api/v1/chat`, ask("failed")),
      await callApi(`${running.url}/api/v1/conversations/${conversation?.id}/messages`),
    ]) {
      expectRefusal(refused, INTERNAL);
      expect(refused.text).not.toMatch(/relation|messages|hidden/);
    }
    await showMessages();
    expect(contentOf((await postTurn(running.url, ask("failed"))).events, "done").completed).toBe(true);
    expect(await messagesOf(running.url, "ada", "failed")).toHaveLength(2);
  });

  test("in the middle of a turn ends the stream with one such error, and the conversation goes on after the lease", async () => {
    let hidden: Promise<unknown> | undefined;
    const onEvent = ({ data }: { data: { status: string } }) => void (data.status === "token" && (hidden ??= hideMessages()));
    const { events } = await postTurn(running.url, ask("mid-turn"), { onEvent });
    await hidden;
    await showMessages();
    expect(events.filter(({ data }) => data.status === "done" || data.status === "error")).toHaveLength(1);
    const message = expect.stringMatching(INTERNAL.says) as unknown;
    expect(contentOf(events, "error")).toEqual({ code: "internal_error", message, retryable: false });
    const next = await postTurn(running.url, ask("mid-turn", { message: "and now?", on_busy: "enqueue" }));
    expect(contentOf(next.events, "done").completed).toBe(true);
    expect((await messagesOf(running.url, "ada", "mid-turn")).map(({ content }) => content)).toEqual(["hello", "and now?", "one two "]);
  });
});
