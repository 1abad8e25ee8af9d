import { beforeAll, describe, expect, test } from "@jest/globals";
import { encodeCursor } from "../../../stores/page.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useTestService } from "../../support/services/service.ts";

const UNKNOWN_ID = "00000000-0000-7000-8000-000000000000";

describe("the service refuses", () => {
  const service = useTestService({ ENABLE_CORE_MEMORY: "true" });
  beforeAll(() => postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "hello" }));

  test.each([
    ["GET", "/api/v1"],
    ["GET", "/api/v1/nothing-here"],
    ["GET", "/%zz"],
    ["GET", "/..%2f..%2fpackage.json"],
  ])("the unknown address %s %s", async (method, path) => {
    const refused = await callApi(service.url + path, { method });
    expectRefusal(refused, { status: 404, code: "not_found", says: /There is no/ });
    expect(refused.json.error.message).toContain(`There is no ${method} ${path}. /docs`);
  });

  test.each([
    ["POST", "/", "GET, HEAD"],
    ["GET", "/api/v1/chat/stream", "POST"],
    ["GET", "/API/v1/chat/", "POST"],
    ["PUT", "/api/v1/chat", "POST"],
    ["POST", "/api/v1/conversations", "GET, HEAD"],
    ["PUT", `/api/v1/conversations/${UNKNOWN_ID}`, "GET, PATCH, DELETE, HEAD"],
    ["DELETE", "/api/v1/knowledge", "GET, HEAD"],
    ["GET", "/v1/chat/completions", "POST"],
  ])("the wrong method in %s %s, where %s is allowed", async (method, path, allow) => {
    const refused = await callApi(service.url + path, { method });
    expect({ status: refused.status, allow: refused.headers.get("allow") }).toEqual({ status: 405, allow });
    expect(refused.json.error.message).toContain(`${path} takes no ${method}. Send ${allow.split(", ").join(" or ")}`);
  });

  test.each([
    ["GET", "/api/v1/conversations/%zz/messages"],
    ["GET", "/api/v1/conversations/%c3%28/messages"],
    ["DELETE", "/api/v1/conversations/%"],
  ])("malformed percent-encoding in %s %s", async (method, path) => {
    const refused = await callApi(service.url + path, { method });
    expectRefusal(refused, { status: 400, code: "invalid_request", says: /Check the percent-encoding of its address/ });
  });

  /** The requests that name one conversation. */
  const callBoth = (id: string) =>
    [
      ["GET", `/api/v1/conversations/${id}/messages`],
      ["DELETE", `/api/v1/conversations/${id}`],
    ].map(([method = "", path = ""]) => callApi(service.url + path, { method }));

  test.each(["not-a-uuid", "1", `${UNKNOWN_ID}0`, `{${UNKNOWN_ID}}`, "%00", "😀", "' or 1=1", "*"])(
    "an id that is no UUID: %s",
    async (id) => {
      for (const refused of await Promise.all(callBoth(id)))
        expectRefusal(refused, { status: 400, code: "invalid_request", field: "conversation id", says: /is not a UUID/ });
    },
  );

  test("an id that does not exist", async () => {
    for (const refused of await Promise.all(callBoth(UNKNOWN_ID)))
      expectRefusal(refused, { status: 404, code: "not_found", says: new RegExp(`There is no conversation ${UNKNOWN_ID}`) });
  });

  const cursorAt = (time: string): string => Buffer.from(`${time} ${UNKNOWN_ID}`).toString("base64url");
  const someCursor = encodeCursor({ createdAt: new Date("2026-01-15T13:38:58.012Z"), id: UNKNOWN_ID });
  test.each([
    ...["0", "201", "-1", "1.5", "1e2", "", "ten", "9".repeat(20)].map(
      (limit) => [`limit=${limit}`, /limit: must be a whole number from 1 to 200/] as const,
    ),
    ["limit=1&limit=2", /limit: must be given once/],
    ["after=rubbish", /after: "rubbish" is not a cursor; pass the "next" of the page before/],
    ...["", UNKNOWN_ID, `${someCursor}x`, cursorAt("-271821-04-20T00:00:00.000Z"), cursorAt("yesterday")].map(
      (after) => [`after=${after}`, /after: .* is not a cursor/] as const,
    ),
    [`after=${someCursor}&after=${someCursor}`, /after: must be given once/],
  ])("the paging query %s", async (query, says) => {
    const field = query.split("=")[0] ?? "";
    for (const path of [`/api/v1/conversations?user_id=ada&${query}`, `/api/v1/conversations/${UNKNOWN_ID}/messages?${query}`])
      expectRefusal(await callApi(service.url + path), { status: 400, code: "invalid_request", field, says });
  });

  test.each([
    ["", /user_id: is missing; send a string/],
    ["?user_id=", /user_id: must have 1 to 200 characters/],
    ["?user_id=a&user_id=b", /user_id: must be a string/],
    ["?user_id[x]=a", /user_id: is missing; send a string/],
    ["?user_id=%00", /user_id: holds a NUL character/],
    [`?user_id=${"a".repeat(201)}`, /user_id: must have 1 to 200 characters/],
  ])('a list of conversations without one valid user id, as in the query "%s"', async (query, says) => {
    const refused = await callApi(`${service.url}/api/v1/conversations${query}`);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "user_id", says });
  });

  test("an unknown address without a header that names its software", async () => {
    const { headers } = await callApi(`${service.url}/api/v1/nothing-here`);
    expect(headers.get("x-powered-by")).toBeNull();
    expect(headers.get("server")).toBeNull();
  });

  const LONG = `/readyz?${"a".repeat(20_000)}`;
  test.each([
    ["a head of more than 16 KiB", `GET ${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["HEAD with a head of more than 16 KiB", `HEAD ${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["a first line that is not HTTP", "hello\r\n\r\n", 400],
    ["no Host", "GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400],
  ])("HTTP that can reach no route with a JSON error, and keeps running: %s", async (_name, bytes, status) => {
    const connection = await connectTo(service.url);
    connection.socket.write(bytes, "latin1");
    await connection.closed;
    const [head = "", body = ""] = connection.received().split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (bytes.startsWith("HEAD")) expect(body).toBe("");
    else expect(JSON.parse(body)).toEqual({ error: { code: "invalid_request", message: expect.any(String) } });
    expect((await callApi(`${service.url}/healthz`)).status).toBe(200);
  });

  const messages = [{ role: "user", content: "hello" }];
  const DOTS = [".", ".."];

  test.each(DOTS)('the ids "." and "..", which no address can hold, in bodies and queries: %s', async (dots) => {
    const wrong = { user_id: { user_id: dots, session_id: "s" }, session_id: { user_id: "ada", session_id: dots } };
    const says = /cannot be "\." or "\.\."/;
    for (const [field, ids] of Object.entries(wrong)) {
      const refusal = { status: 400, code: "invalid_request", field, says };
      for (const path of ["/chat", "/chat/stream", "/conversations/import"]) {
        const rest = path.endsWith("import") ? { messages } : { message: "hello" };
        expectRefusal(await postJson(`${service.url}/api/v1${path}`, { ...ids, ...rest }), refusal);
      }
    }
    const listed = await callApi(`${service.url}/api/v1/conversations?user_id=${dots}`);
    expectRefusal(listed, { status: 400, code: "invalid_request", field: "user_id", says });
    const body = { user_id: "ada", session_id: "s", message: "hello", kb_prefix: dots };
    expectRefusal(await postJson(`${service.url}/api/v1/chat`, body), { status: 400, code: "invalid_request", field: "kb_prefix" });
    for (const header of ["X-User-Id", "X-Session-Id"]) {
      const request = { model: "conversation-graph", messages };
      const { status, json } = await postJson(`${service.url}/v1/chat/completions`, request, { [header]: dots });
      expect({ status, message: json.error.message }).toMatchObject({ status: 400, message: expect.stringMatching(/cannot be/) });
    }
  });

  test.each(DOTS.flatMap((dots) => [`users/${dots}/core-memory`, `users/ada/core-memory/${dots}/history`, `knowledge/${dots}/documents`]))(
    "dots as a name in a path that was not normalised on its way: %s",
    async (path) => {
      const connection = await connectTo(service.url);
      connection.socket.write(`GET /api/v1/${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      await connection.closed;
      expect(connection.received()).toMatch(/^HTTP\/1.1 400 /);
    },
  );
});
