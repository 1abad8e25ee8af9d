import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";

const ENDPOINTS = ["/api/v1/chat/stream", "/api/v1/chat"];
const GOOD = { user_id: "ada", session_id: "s", message: "hello" };
const JSON_TYPE = { "content-type": "application/json" };
const FACE = "\u{1F600}";

/** Bodies that are refused with 400, the field at fault, and what the message says of it. */
const BAD_BODIES: [name: string, body: unknown, field: string, says: RegExp][] = [
  ["no user_id", { session_id: "s", message: "x" }, "user_id", /user_id: is missing; send a string/],
  ["no session_id", { user_id: "ada", message: "x" }, "session_id", /session_id: is missing; send a string/],
  ["no message", { user_id: "ada", session_id: "s" }, "message", /message: is missing; send a string/],
  ["a null message", { ...GOOD, message: null }, "message", /message: must be a string/],
  ["a number as user_id", { ...GOOD, user_id: 7 }, "user_id", /user_id: must be a string/],
  ["a list as session_id", { ...GOOD, session_id: ["s"] }, "session_id", /session_id: must be a string/],
  ["a stored object as message", { ...GOOD, message: { lc: 1, type: "constructor" } }, "message", /message: must be a string/],
  ["an empty user_id", { ...GOOD, user_id: "" }, "user_id", /user_id: must have 1 to 200 characters/],
  ["an empty session_id", { ...GOOD, session_id: "" }, "session_id", /session_id: must have 1 to 200 characters/],
  ["a user_id of 201 letters", { ...GOOD, user_id: "a".repeat(201) }, "user_id", /user_id: must have 1 to 200 characters/],
  ["a user_id of 201 emoji", { ...GOOD, user_id: FACE.repeat(201) }, "user_id", /user_id: must have 1 to 200 characters/],
  ["a session_id of 201 emoji", { ...GOOD, session_id: FACE.repeat(201) }, "session_id", /session_id: must have 1 to 200 characters/],
  ["a dot as user_id", { ...GOOD, user_id: "." }, "user_id", /user_id: cannot be "." or "..", .*choose another/],
  ["two dots as session_id", { ...GOOD, session_id: ".." }, "session_id", /session_id: cannot be "." or "..", .*choose another/],
  ["an empty message", { ...GOOD, message: "" }, "message", /message: is blank; send/],
  ["a message of spaces and line breaks", { ...GOOD, message: " \t\r\n\u3000\u00a0 " }, "message", /message: is blank; send/],
  ["NUL in the message", { ...GOOD, message: "ab\0c" }, "message", /message: holds a NUL character .* at position 2; remove it/],
  ["NUL in the user_id", { ...GOOD, user_id: "\0" }, "user_id", /user_id: holds a NUL character .*; remove it/],
  ["half an emoji in the message", { ...GOOD, message: "cut \ud83d" }, "message", /message: holds half of a surrogate pair.*send whole/],
  ["the other half in the session_id", { ...GOOD, session_id: "\ude00s" }, "session_id", /session_id: holds half of a surrogate pair/],
  ["halves in the wrong order", { ...GOOD, message: "\ude00\ud83d" }, "message", /message: holds half of a surrogate pair/],
  ["an unknown field", { ...GOOD, surprise: 1 }, "surprise", /surprise: is not a known field; remove it/],
  ["a field called __proto__", `{"__proto__":{},${JSON.stringify(GOOD).slice(1)}`, "__proto__", /__proto__: is not a known field/],
  ["an unknown agent_type", { ...GOOD, agent_type: "nope" }, "agent_type", /one of hybrid_agent, naive_rag_agent, chat_agent/],
  ["debug as a word", { ...GOOD, debug: "yes" }, "debug", /debug: must be true or false/],
  ["an unknown on_busy", { ...GOOD, on_busy: "wait" }, "on_busy", /on_busy: must be one of refuse, enqueue/],
  ["an unknown on_disconnect", { ...GOOD, on_disconnect: null }, "on_disconnect", /on_disconnect: must be one of cancel, continue/],
  ["an unknown kb_prefix", { ...GOOD, kb_prefix: "no-such-base" }, "kb_prefix", /no knowledge base "no-such-base"; known ones: general/],
  ["an empty kb_prefix", { ...GOOD, kb_prefix: "" }, "kb_prefix", /kb_prefix: there is no knowledge base ""; known ones: general/],
  ["a number as kb_prefix", { ...GOOD, kb_prefix: 1 }, "kb_prefix", /kb_prefix: must be a string/],
  ["a list", [GOOD], "body", /body: must be a JSON object with user_id, session_id and message/],
  ["an empty list", [], "body", /body: must be a JSON object/],
];

const NO_JSON_OBJECTS: [name: string, body: string][] = [
  ["cut off JSON", '{"user_id": "ada"'],
  ["null", "null"],
  ["a JSON string", '"hello"'],
  ["a number", "7"],
  ["form fields", "user_id=ada&message=x"],
  ["two objects", `${JSON.stringify(GOOD)}${JSON.stringify(GOOD)}`],
];

describe("a chat request that is refused", () => {
  let running: ServiceWithModel;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    database = await createRealDatabase();
    running = await openServiceWithModel({ DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await running.close();
    await database.drop();
  });

  describe.each(ENDPOINTS)("by %s", (endpoint) => {
    const post = (body: unknown, headers?: Record<string, string>) => postJson(running.url + endpoint, body, headers);

    test.each(BAD_BODIES)("for %s names the field, its fault and the fix", async (_name, body, field, says) => {
      expectRefusal(await post(body), { status: 400, code: "invalid_request", field, says });
    });

    test("for several faults names them all at once", async () => {
      const { json } = await post({ user_id: "", message: 7, debug: 1, surprise: true });
      expect(json.error.details?.map(({ field }) => field).sort()).toEqual(["debug", "message", "session_id", "surprise", "user_id"]);
    });

    test.each(NO_JSON_OBJECTS)("for %s as the body says to send a JSON object", async (_name, body) => {
      expectRefusal(await post(body), { status: 400, code: "invalid_request", says: /not a JSON object\. Send one/ });
    });

    test("for no body at all says what to send", async () => {
      for (const headers of [JSON_TYPE, {}]) {
        const refused = await callApi(running.url + endpoint, { method: "POST", headers });
        expectRefusal(refused, { status: 400, code: "invalid_request", says: /message/ });
      }
    });

    test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "nonsense"])(
      "for the content type %s names it and the right one",
      async (contentType) => {
        const refused = await post(GOOD, { "content-type": contentType });
        expectRefusal(refused, { status: 415, code: "unsupported_media_type", says: /Send JSON with .*content-type: application\/json/ });
        expect(refused.json.error.message).toContain(contentType);
      },
    );

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

    test("for a body over the limit gives the limit, also when it is only large once unpacked", async () => {
      const tooLarge = JSON.stringify({ ...GOOD, message: "x".repeat(1_000_000) });
      const refusal = { status: 413, code: "body_too_large", says: /larger than 400384 bytes\. Shorten/ };
      expectRefusal(await post(tooLarge), refusal);
      const body = new Uint8Array(gzipSync(tooLarge));
      expect(body.length).toBeLessThan(10_000);
      const headers = { ...JSON_TYPE, "content-encoding": "gzip" };
      expectRefusal(await callApi(running.url + endpoint, { method: "POST", headers, body }), refusal);
    });

    test("for a compressed body that is none", async () => {
      const refused = await post(GOOD, { "content-encoding": "gzip" });
      expectRefusal(refused, { status: 400, code: "invalid_request", says: /Check .* compression of its body/ });
    });

    test("for bytes that are no UTF-8", async () => {
      const body = new Uint8Array(Buffer.from(JSON.stringify({ ...GOOD, message: "caf\u00e9" }), "latin1"));
      const refused = await callApi(running.url + endpoint, { method: "POST", headers: JSON_TYPE, body });
      expectRefusal(refused, { status: 400, code: "invalid_request", says: /not valid UTF-8\. Send its text encoded as UTF-8/ });
    });
  });

  test("stores nothing, asks no model, and the service goes on", async () => {
    const postgres = await openPostgres(database.url);
    const [count] = await postgres.query<{ stored: number }>({
      text: "select (select count(*) from conversations)::int + (select count(*) from messages)::int as stored",
    });
    await postgres.close();
    expect(count?.stored).toBe(0);
    expect(running.model.seen).toEqual([]);
    expect((await postJson(`${running.url}/api/v1/chat`, GOOD)).status).toBe(200);
    expect(await listConversations(running.url, "ada")).toHaveLength(1);
  });
});
