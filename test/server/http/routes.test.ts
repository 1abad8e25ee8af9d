import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encodeCursor } from "../../../stores/page.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

const UNKNOWN_ID = "00000000-0000-7000-8000-000000000000";

describe("an address that is refused", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
    await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "hello" });
  });
  afterAll(() => service.close());

  test.each([
    ["POST", "/"],
    ["GET", "/api/v1"],
    ["GET", "/api/v1/nothing-here"],
    ["GET", "/api/v1/chat/stream"],
    ["PUT", "/api/v1/chat"],
    ["POST", "/api/v1/conversations"],
    ["GET", `/api/v1/conversations/${UNKNOWN_ID}`],
    ["GET", "/%zz"],
    ["GET", "/..%2f..%2fpackage.json"],
  ])("as unknown: %s %s", async (method, path) => {
    const refused = await callApi(service.url + path, { method });
    expectRefusal(refused, { status: 404, code: "not_found", says: /There is no/ });
    expect(refused.json.error.message).toContain(`There is no ${method} ${path}.`);
  });

  test.each([
    ["GET", "/api/v1/conversations/%zz/messages"],
    ["GET", "/api/v1/conversations/%c3%28/messages"],
    ["DELETE", "/api/v1/conversations/%"],
  ])("for malformed percent-encoding: %s %s", async (method, path) => {
    const refused = await callApi(service.url + path, { method });
    expectRefusal(refused, { status: 400, code: "invalid_request", says: /Check the percent-encoding of its address/ });
  });

  test.each(["not-a-uuid", "1", `${UNKNOWN_ID}0`, `{${UNKNOWN_ID}}`, "%00", "😀", "' or 1=1", "*"])(
    "for an id that is no UUID: %s",
    async (id) => {
      for (const [method, path] of [
        ["GET", `/api/v1/conversations/${id}/messages`],
        ["DELETE", `/api/v1/conversations/${id}`],
      ] as const) {
        const refused = await callApi(service.url + path, { method });
        expectRefusal(refused, { status: 400, code: "invalid_request", field: "conversation id", says: /is not a UUID/ });
      }
    },
  );

  test("for an id that nothing has", async () => {
    for (const [method, path] of [
      ["GET", `/api/v1/conversations/${UNKNOWN_ID}/messages`],
      ["DELETE", `/api/v1/conversations/${UNKNOWN_ID}`],
    ] as const) {
      const refused = await callApi(service.url + path, { method });
      expectRefusal(refused, { status: 404, code: "not_found", says: new RegExp(`There is no conversation ${UNKNOWN_ID}`) });
    }
  });

  const cursorAt = (time: string): string => Buffer.from(`${time} ${UNKNOWN_ID}`).toString("base64url");
  const someCursor = encodeCursor({ createdAt: new Date(), id: UNKNOWN_ID });
  test.each([
    ["limit=0", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=201", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=-1", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=1.5", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=1e2", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=ten", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=99999999999999999999", "limit", /limit: must be a whole number from 1 to 200/],
    ["limit=1&limit=2", "limit", /limit: must be given once/],
    ["after=rubbish", "after", /after: "rubbish" is not a cursor; pass the "next" of the page before/],
    ["after=", "after", /after: "" is not a cursor/],
    [`after=${UNKNOWN_ID}`, "after", /after: .* is not a cursor/],
    [`after=${someCursor}x`, "after", /after: .* is not a cursor/],
    [`after=${someCursor}&after=${someCursor}`, "after", /after: must be given once/],
    [`after=${cursorAt("-271821-04-20T00:00:00.000Z")}`, "after", /after: .* is not a cursor/],
    [`after=${cursorAt("yesterday")}`, "after", /after: .* is not a cursor/],
  ])("for paging by %s", async (query, field, says) => {
    for (const path of [`/api/v1/conversations?user_id=ada&${query}`, `/api/v1/conversations/${UNKNOWN_ID}/messages?${query}`]) {
      expectRefusal(await callApi(service.url + path), { status: 400, code: "invalid_request", field, says });
    }
  });

  test.each([
    ["", /user_id: is missing; send a string/],
    ["?user_id=", /user_id: must have 1 to 200 characters/],
    ["?user_id=a&user_id=b", /user_id: must be a string/],
    ["?user_id[x]=a", /user_id: is missing; send a string/],
    ["?user_id=%00", /user_id: holds a NUL character/],
    [`?user_id=${"a".repeat(201)}`, /user_id: must have 1 to 200 characters/],
  ])("for a list of nobody's conversations: %s", async (query, says) => {
    const refused = await callApi(`${service.url}/api/v1/conversations${query}`);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "user_id", says });
  });

  test("without a word of HTML, and the service says nothing of what it is made of", async () => {
    const { headers } = await callApi(`${service.url}/api/v1/nothing-here`);
    expect(headers.get("x-powered-by")).toBeNull();
    expect(headers.get("server")).toBeNull();
  });

  test("when it is not even HTTP, and the service goes on", async () => {
    const connection = await connectTo(service.url);
    connection.socket.write("hello?\r\n\r\n");
    await connection.closed;
    expect(connection.received()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect((await callApi(`${service.url}/healthz`)).status).toBe(200);
  });
});
