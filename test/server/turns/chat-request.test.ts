import { gzipSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const GOOD = { user_id: "ada", session_id: "s", message: "hello" };
const JSON_TYPE = { "content-type": "application/json" };
const FACE = "\u{1F600}";

const MISSING = /^is missing; send a string$/;
const NO_STRING = /^must be a string$/;
const LENGTH = /^must have 1 to 200 characters$/;
const DOTS = /^cannot be "\." or "\.\.", .*choose another$/;
const BLANK = /^is blank; send/;
const HALF = /^holds half of a surrogate pair.*send whole/;
const UNKNOWN_FIELD = /^is not a known field; remove it$/;
const NO_OBJECT = /^must be a JSON object with user_id, session_id and message$/;

/** Bodies that are refused with 400, and what `details` says of each field at fault. */
const BAD_BODIES: [name: string, body: unknown, problems: Record<string, RegExp>][] = [
  ["missing fields", {}, { user_id: MISSING, session_id: MISSING, message: MISSING }],
  [
    "values of other types",
    { user_id: 7, session_id: ["s"], message: { lc: 1, type: "constructor" }, kb_prefix: 1, debug: "yes", surprise: 1 },
    {
      user_id: NO_STRING,
      session_id: NO_STRING,
      message: NO_STRING,
      kb_prefix: NO_STRING,
      debug: /^must be true or false$/,
      surprise: UNKNOWN_FIELD,
    },
  ],
  ["null", { ...GOOD, message: null }, { message: NO_STRING }],
  ["empty texts", { user_id: "", session_id: "", message: "" }, { user_id: LENGTH, session_id: LENGTH, message: BLANK }],
  [
    "201 letters, 201 emoji and a blank",
    { user_id: "a".repeat(201), session_id: FACE.repeat(201), message: " \t\r\n\u3000\u00a0 " },
    { user_id: LENGTH, session_id: LENGTH, message: BLANK },
  ],
  ["dots as ids", { ...GOOD, user_id: ".", session_id: ".." }, { user_id: DOTS, session_id: DOTS }],
  [
    "NUL",
    { ...GOOD, user_id: "\0", message: "ab\0c" },
    { user_id: /^holds a NUL character .*; remove it$/, message: /^holds a NUL character .* at position 2; remove it$/ },
  ],
  [
    "halves of surrogate pairs",
    { user_id: "\ude00\ud83d", session_id: "\ude00s", message: "cut \ud83d" },
    { user_id: HALF, session_id: HALF, message: HALF },
  ],
  ["a field called __proto__", `{"__proto__":{},${JSON.stringify(GOOD).slice(1)}`, { ["__proto__"]: UNKNOWN_FIELD }],
  [
    "unknown words",
    { ...GOOD, agent_type: "nope", on_busy: "wait", on_disconnect: null },
    {
      agent_type: /^must be one of hybrid_agent, naive_rag_agent, chat_agent$/,
      on_busy: /^must be one of refuse, enqueue, interrupt, cancel_waiting$/,
      on_disconnect: /^must be one of cancel, continue$/,
    },
  ],
  ["an unknown knowledge base", { ...GOOD, kb_prefix: "none" }, { kb_prefix: /no knowledge base "none"; known ones: general/ }],
  ["an empty knowledge base", { ...GOOD, kb_prefix: "" }, { kb_prefix: /there is no knowledge base ""; known ones: general/ }],
  ["a list", [GOOD], { body: NO_OBJECT }],
];

const NO_JSON_OBJECTS = ['{"user_id": "ada"', "null", '"hello"', "7", "user_id=ada&message=x", `${JSON.stringify(GOOD)}{}`];
const OTHER_TYPES = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "nonsense"];

describe("a chat request that is refused", () => {
  const running = useServiceWithModel({ MAX_PICTURES: "0" }); // with pictures a body may be longer

  describe.each(["/api/v1/chat/stream", "/api/v1/chat"])("by %s", (endpoint) => {
    const post = (body: unknown, headers?: Record<string, string>) => postJson(running.url + endpoint, body, headers);
    const send = (body?: Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE) =>
      callApi(running.url + endpoint, { method: "POST", headers, ...(body ? { body } : {}) });

    test.each(BAD_BODIES)("for %s names every field, its fault and the fix", async (_name, body, problems) => {
      const refused = await post(body);
      const [field = ""] = Object.keys(problems);
      expectRefusal(refused, { status: 400, code: "invalid_request", field });
      const given = new Map(refused.json.error.details?.map((detail) => [detail.field, detail.problem]));
      expect([...given.keys()].sort()).toEqual(Object.keys(problems).sort());
      for (const [name, says] of Object.entries(problems)) expect(given.get(name)).toMatch(says);
    });

    test.each(NO_JSON_OBJECTS)("for the body %s says to send a JSON object", async (body) => {
      expectRefusal(await post(body), { status: 400, code: "invalid_request", says: /not a JSON object\. Send one/ });
    });

    test("for no body at all says what to send", async () => {
      for (const headers of [JSON_TYPE, {}])
        expectRefusal(await send(undefined, headers), { status: 400, code: "invalid_request", says: /message/ });
    });

    test.each(OTHER_TYPES)("for the content type %s names it and the right one", async (contentType) => {
      const refused = await post(GOOD, { "content-type": contentType });
      expectRefusal(refused, { status: 415, code: "unsupported_media_type", says: /Send JSON with .*content-type: application\/json/ });
      expect(refused.json.error.message).toContain(contentType);
    });

    test.each([
      ["another character set", { "content-type": "application/json; charset=latin1" }],
      ["an unknown compression", { "content-encoding": "zstd-of-tomorrow" }],
    ])("for %s says which encodings are taken", async (_name, headers) => {
      expectRefusal(await post(GOOD, headers), { status: 415, code: "unsupported_media_type", says: /Send UTF-8, plain or gzipped/ });
    });

    test("for a message over the limit gives both counts", async () => {
      const refused = await post({ ...GOOD, message: FACE.repeat(32_001) });
      const says = /message: has 32001 characters, at most 32000 are taken; shorten it, or raise MAX_MESSAGE_CHARS/;
      expectRefusal(refused, { status: 413, code: "message_too_long", field: "message", says });
    });

    test("for a body over the limit gives the limit, even when the body is only large after unpacking", async () => {
      const tooLarge = JSON.stringify({ ...GOOD, message: "x".repeat(1_000_000) });
      const refusal = { status: 413, code: "body_too_large", says: /larger than 640384 bytes\. Shorten/ };
      expectRefusal(await post(tooLarge), refusal);
      const packed = new Uint8Array(gzipSync(tooLarge));
      expect(packed.length).toBeLessThan(10_000);
      expectRefusal(await send(packed, { ...JSON_TYPE, "content-encoding": "gzip" }), refusal);
    });

    test("for wrongly compressed bytes or bytes that are not UTF-8 says how to send them", async () => {
      const packed = await post(GOOD, { "content-encoding": "gzip" });
      expectRefusal(packed, { status: 400, code: "invalid_request", says: /Check .* compression of its body/ });
      const latin = await send(new Uint8Array(Buffer.from(JSON.stringify({ ...GOOD, message: "caf\u00e9" }), "latin1")));
      expectRefusal(latin, { status: 400, code: "invalid_request", says: /not valid UTF-8\. Send its text encoded as UTF-8/ });
    });
  });

  test("stores nothing, asks no model, and the service goes on", async () => {
    expect(await listConversations(running.url, "ada")).toEqual([]);
    expect(running.model.seen).toEqual([]);
    expect((await postJson(`${running.url}/api/v1/chat`, GOOD)).status).toBe(200);
    expect(await listConversations(running.url, "ada")).toHaveLength(1);
  });
});
