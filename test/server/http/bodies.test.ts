import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import express, { type ErrorRequestHandler } from "express";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeReadLargeJson } from "../../../server/http/read-body.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { connectTo, type RawConnection } from "../../support/clients/raw-connection.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { useTestService } from "../../support/services/service.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { addressOf, type AppRoute, routesOfService } from "../../support/clients/app-routes.ts";

const ORDINARY = 1_000;
const LIMIT = 10_000;
describe("a reader of large JSON bodies with room for two", () => {
  const held: (() => void)[] = [];
  const errors: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error);
    else response.status(500).json(error instanceof AppError ? error.code : String(error));
  };
  const app = express()
    .post("/", makeReadLargeJson(2 * LIMIT)({ limitBytes: LIMIT, ordinaryBytes: ORDINARY }), (request, response) => {
      const answer = (): void => void response.json((request.body as { text: string }).text.length);
      if (request.query["hold"] === undefined) answer();
      else held.push(answer);
    })
    .use(errors);
  const server = http.createServer(app);
  let url: string;
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => void server.close());

  const json = (bytes: number): string => JSON.stringify({ text: "x".repeat(bytes - '{"text":""}'.length) });
  type Way = "told" | "chunked" | "packed";
  async function post(bytes: number, way: Way, query = ""): Promise<unknown> {
    const body = { told: () => json(bytes), chunked: () => new Blob([json(bytes)]).stream(), packed: () => gzipSync(json(bytes)) }[way]();
    const headers = { "content-type": "application/json", ...(way === "packed" ? { "content-encoding": "gzip" } : {}) };
    return (await fetch(url + query, { method: "POST", headers, body, duplex: "half" })).json();
  }
  async function hold(count: number, bytes: number, way: Way): Promise<{ answers: Promise<unknown[]>; release: () => void }> {
    const before = held.length;
    const answers = Promise.all(Array.from({ length: count }, () => post(bytes, way, "?hold")));
    await waitUntil("the bodies being read", () => held.length === before + count);
    return { answers, release: () => held.splice(before).forEach((answer) => answer()) };
  }

  test.each<Way>(["told", "chunked", "packed"])("takes any number of ordinary bodies (%s)", async (way) => {
    const { answers, release } = await hold(20, ORDINARY, way);
    release();
    expect(new Set(await answers)).toEqual(new Set([ORDINARY - 11]));
  });

  test.each<Way>(["told", "chunked"])(
    "refuses a third large body while two are being answered, and takes it afterwards (%s)",
    async (way) => {
      const { answers, release } = await hold(2, LIMIT, way);
      expect(await post(LIMIT, way)).toBe("overloaded");
      expect(await post(ORDINARY, way)).toBe(ORDINARY - 11);
      release();
      await answers;
      await waitUntil("room", async () => (await post(LIMIT, way)) === LIMIT - 11);
    },
  );

  test.each<Way>(["told", "chunked"])("refuses a body over the limit (%s)", async (way) => {
    expect(await post(LIMIT + 1, way)).toBe("body_too_large");
  });

  test("reads no more of a compressed body than of an ordinary one", async () => {
    expect(await post(ORDINARY + 1, "packed")).toMatch(/too large/);
  });
});

const MEGABYTE = 1024 * 1024;
const PIECE = "x".repeat(MEGABYTE);
describe("a body that is too large", () => {
  const service = useTestService({}, IN_THIS_PROCESS); // whose memory is measured

  async function begin(route: string, type: string, length: string): Promise<RawConnection> {
    const connection = await connectTo(service.url);
    connection.socket.write(`${route} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\n${length}\r\n\r\n`);
    return connection;
  }
  /** Writes, and waits until there is room for more. */
  async function write({ socket, closed }: RawConnection, piece: string): Promise<void> {
    if (socket.write(piece)) await sleep(1);
    else await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
  }

  function expectRefused(connection: RawConnection): void {
    const [head = "", body = ""] = connection.received().split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 413 /);
    expect(head).toMatch(/^connection: close$/im);
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    expect(error).toMatchObject({ code: "body_too_large", message: expect.stringMatching(/larger than \d+ bytes/) });
    connection.socket.destroy();
  }

  test.each([
    ["POST /api/v1/chat/stream", "application/json"],
    ["POST /api/v1/chat", "application/json"],
    ["PUT /api/v1/users/ada/core-memory/profile", "application/json"],
    ["POST /api/v1/jobs/retry", "application/json"],
    ["POST /api/v1/conversations/import", "application/json"],
    ["PUT /api/v1/knowledge/travel", "application/json"],
    ["POST /api/v1/knowledge/travel/documents", "application/json"],
    ["POST /api/v1/knowledge/travel/documents?title=x", "application/pdf"],
  ])("for %s with %s is refused by its Content-Length before it is sent, or as soon as it passes the limit", async (route, type) => {
    const announced = await begin(route, type, `content-length: ${100 * MEGABYTE}`);
    await announced.until("}}");
    expectRefused(announced);
    const chunked = await begin(route, type, "transfer-encoding: chunked");
    let sent = 0;
    for (; !chunked.received().includes("}}") && sent < 100; sent++) await write(chunked, `100000\r\n${PIECE}\r\n`);
    await chunked.until("}}");
    expectRefused(chunked);
    expect(sent).toBeLessThan(100); // it has not been read to its end
  });

  test("is not kept in memory when it is sent on after the refusal, and its client gets the answer", async () => {
    const connection = await begin("POST /api/v1/chat", "application/json", `content-length: ${300 * MEGABYTE}`);
    const before = process.memoryUsage.rss();
    let most = 0;
    // The rest is thrown away for ten seconds; on a busy machine the connection ends before all is sent.
    for (let sent = 0; sent < 300 && connection.socket.writable; sent++) {
      await write(connection, PIECE);
      most = Math.max(most, process.memoryUsage.rss());
    }
    await connection.closed;
    expectRefused(connection);
    expect(most - before).toBeLessThan(150 * MEGABYTE);
  });

  test("does no harm to the service, which then takes a body within the limit, chunked or not", async () => {
    const json = JSON.stringify({ user_id: "ada", session_id: "s", message: "hello", on_busy: "enqueue" });
    const whole = await begin("POST /api/v1/chat", "application/json", `content-length: ${json.length}`);
    whole.socket.write(json);
    const chunked = await begin("POST /api/v1/chat", "application/json", "transfer-encoding: chunked");
    for (const character of json) chunked.socket.write(`1\r\n${character}\r\n`);
    chunked.socket.write("0\r\n\r\n");
    for (const connection of [whole, chunked]) {
      await connection.until('"completed":');
      connection.socket.destroy();
    }
  });
});

const UUID = "00000000-0000-7000-8000-000000000000";
const TAKES_BODY = new Set(["POST", "PUT", "PATCH"]);
const BODIES: [where: string, body: string, field: string][] = [
  ["a text", String.raw`{"user_id":"ada","metadata":{"a":["fine","\ud83d\ude00 \ud800"]}}`, "metadata.a.1"],
  ["a name of a field", String.raw`{"metadata":{"\uDC00":1}}`, "metadata.\ufffd"],
  ["a name of a field deep inside", `${'{"a":'.repeat(20)}{"b\\udfff":1}${"}".repeat(20)}`, `${"a.".repeat(20)}b\ufffd`],
];
describe("half of a surrogate pair", () => {
  const service = useTestService({ ENABLE_CORE_MEMORY: "true" }, IN_THIS_PROCESS);
  let routes: AppRoute[];
  beforeAll(async () => void (routes = (await routesOfService(service.url)).filter(({ method }) => TAKES_BODY.has(method))));

  test.each(BODIES)("in %s of a body is refused by every route that reads JSON, with the field's name", async (_where, body, field) => {
    const refused: string[] = [];
    for (const route of routes) {
      const { status, text } = await postJson(service.url + addressOf(route, { user_id: "ada" }, UUID), body, {}, route.method);
      if (text.includes("half of a surrogate pair")) {
        expect({ route, status }).toEqual({ route, status: 400 });
        expect(text).toContain(`${field}: holds half`);
        refused.push(`${route.method} ${route.path}`);
      } else expect({ route, status, isRead: status === 400 }).toEqual({ route, status: expect.any(Number), isRead: false });
    }
    const some = ["/api/v1/chat", "/langgraph/threads", "/langgraph/threads/search", "/v1/conversations", "/v1/responses", "/mcp"];
    expect(refused).toEqual(expect.arrayContaining(some.map((path) => `POST ${path}`)));
  });

  test.each([
    ["a whole pair", String.raw`"\ud83d\ude00"`],
    ["a text that only looks like an escape", String.raw`"\\ud800"`],
  ])("is not confused with %s", async (_what, spelt) => {
    const { status, json } = await postJson(`${service.url}/langgraph/threads`, `{"metadata":{"a":${spelt}}}`);
    expect({ status, json }).toMatchObject({ status: 200, json: { metadata: { a: JSON.parse(spelt) as string } } });
  });
});
