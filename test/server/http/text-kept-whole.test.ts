import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";

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
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel();
  });
  afterAll(() => running.close());

  test.each(TEXTS)("is kept byte for byte: %s", async (_name, text) => {
    running.model.answer({ tokens: [text, text] });
    const { events } = await postTurn(running.url, { user_id: text, session_id: `${text}-session`, message: text });
    const done = contentOf(events, "done");
    expect(tokenText(events)).toBe(text + text);
    expect(done.answer).toBe(text + text);
    expect(running.model.seen.at(-1)?.body.messages.at(-1)).toEqual({ role: "user", content: text });

    const [conversation, ...others] = await listConversations(running.url, text);
    expect(others).toEqual([]);
    expect(conversation).toMatchObject({ id: done.conversation_id, session_id: `${text}-session` });
    const stored = await listMessages(running.url, done.conversation_id);
    expect(stored.map(({ content }) => content)).toEqual([text, text + text]);
  });

  test("counts an emoji as one character of an id: 200 of them are taken", async () => {
    running.model.answer({ tokens: ["fine"] });
    const userId = FACE.repeat(200);
    const { status } = await postJson(`${running.url}/api/v1/chat`, { user_id: userId, session_id: userId, message: "x" });
    expect(status).toBe(200);
    expect(await messagesOf(running.url, userId, userId)).toHaveLength(2);
  });

  test("may be as long as the limit, however it is escaped", async () => {
    running.model.answer({ tokens: ["fine"] });
    const escaped = "\\ud83d\\ude00".repeat(32_000);
    const body = `{"user_id":"limit","session_id":"s","message":"${escaped}"}`;
    const { status, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body);
    expect(status).toBe(200);
    const [question] = await listMessages(running.url, json.conversation_id);
    expect(question?.content === FACE.repeat(32_000)).toBe(true);
  });

  test("may come compressed", async () => {
    running.model.answer({ tokens: ["fine"] });
    const body = new Uint8Array(gzipSync(JSON.stringify({ user_id: "gzip", session_id: "s", message: "你好" })));
    const headers = { "content-type": "application/json; charset=utf-8", "content-encoding": "gzip" };
    const { status } = await callApi(`${running.url}/api/v1/chat`, { method: "POST", headers, body });
    expect(status).toBe(200);
    expect((await messagesOf(running.url, "gzip", "s"))[0]?.content).toBe("你好");
  });

  test("in ids is compared byte by byte: composed and decomposed, small and capital letters are different ids", async () => {
    running.model.answer({ tokens: ["fine"] });
    const ids = ["\u00e9", "e\u0301", "E", "e", "e "];
    const conversations = await Promise.all(
      ids.map(async (id) => {
        const { json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, { user_id: "bytes", session_id: id, message: id });
        return json.conversation_id;
      }),
    );
    expect(new Set(conversations).size).toBe(ids.length);
    await postJson(`${running.url}/api/v1/chat`, { user_id: "\u00e9", session_id: "own", message: "x" });
    expect(await listConversations(running.url, "e\u0301")).toEqual([]);
  });

  test("that the model splits inside an emoji is put together again", async () => {
    running.model.answer({ tokens: ["look \ud83d", "\ude00", " done"] });
    const { events } = await postTurn(running.url, { user_id: "split", session_id: "s", message: "x" });
    expect(tokenText(events)).toBe(`look ${FACE} done`);
    expect((await messagesOf(running.url, "split", "s"))[1]?.content).toBe(`look ${FACE} done`);
  });

  test("from the model that cannot be stored is replaced in the stream and in the store alike", async () => {
    running.model.answer({ tokens: ["nul \0 here"] });
    const { events } = await postTurn(running.url, { user_id: "nul", session_id: "s", message: "x" });
    expect(tokenText(events)).toBe("nul \ufffd here");
    expect((await messagesOf(running.url, "nul", "s"))[1]).toMatchObject({ content: "nul \ufffd here", completed: true });
  });

  test("from the model that is cut inside an emoji is kept up to there", async () => {
    running.model.answer({ tokens: ["look \ud83d"], ending: "cut" });
    const { events } = await postTurn(running.url, { user_id: "half", session_id: "s", message: "x" });
    expect(contentOf(events, "error").code).toBe("model_interrupted");
    expect((await messagesOf(running.url, "half", "s"))[1]).toMatchObject({ content: "look \ufffd", completed: false });
  });
});
