import { gzipSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { callApi, listConversations, listMessages, messagesOf } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

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

  test.each(TEXTS)("is kept byte for byte: %s", async (_name, text) => {
    const { events, stored } = await exchange(text, `${text}-session`, text, [text, text]);
    const done = contentOf(events, "done");
    expect([tokenText(events), done.answer]).toEqual([text + text, text + text]);
    expect(running.model.seen.at(-1)?.body.messages.at(-1)).toEqual({ role: "user", content: text });
    expect(stored.map(({ content }) => content)).toEqual([text, text + text]);
    const listed = await listConversations(running.url, text);
    expect(listed).toEqual([expect.objectContaining({ id: done.conversation_id, session_id: `${text}-session` })]);
  });

  test("counts an emoji as one character of an id: 200 of them are taken", async () => {
    const { status, stored } = await exchange(FACE.repeat(200), FACE.repeat(200), "x", ["fine"]);
    expect([status, stored.length]).toEqual([200, 2]);
  });

  test("may be as long as the limit, however it is escaped", async () => {
    running.model.answer({ tokens: ["fine"] });
    const escaped = "\\ud83d\\ude00".repeat(32_000);
    const { status, events } = await postTurn(running.url, `{"user_id":"limit","session_id":"s","message":"${escaped}"}`);
    expect(status).toBe(200);
    const [question] = await listMessages(running.url, contentOf(events, "done").conversation_id);
    expect(question?.content === FACE.repeat(32_000)).toBe(true);
  });

  test("may come compressed", async () => {
    running.model.answer({ tokens: ["fine"] });
    const body = new Uint8Array(gzipSync(JSON.stringify({ user_id: "gzip", session_id: "s", message: "你好" })));
    const headers = { "content-type": "application/json; charset=utf-8", "content-encoding": "gzip" };
    expect((await callApi(`${running.url}/api/v1/chat`, { method: "POST", headers, body })).status).toBe(200);
    expect((await messagesOf(running.url, "gzip", "s"))[0]?.content).toBe("你好");
  });

  test("in ids is compared byte by byte: composed and decomposed, small and capital letters are different ids", async () => {
    const ids = ["\u00e9", "e\u0301", "E", "e", "e "];
    for (const id of ids) expect((await exchange("bytes", id, id, ["fine"])).stored.map(({ content }) => content)).toEqual([id, "fine"]);
    await exchange("\u00e9", "own", "x", ["fine"]);
    expect(await listConversations(running.url, "e\u0301")).toEqual([]);
  });
});
