import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openTestService, type TestService } from "../../support/services/service.ts";

describe("what is no HTTP that could reach a route", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });
  afterAll(() => service.close());

  /** Everything that comes back for these bytes until the connection ends. */
  function send(bytes: string): Promise<string> {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes, "latin1");
    return text(socket);
  }
  const LONG = `/readyz?${"a".repeat(20_000)}`;

  test.each([
    ["a head of more than 16 KiB", `GET ${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ["a first line that is none", "hello\r\n\r\n", 400],
    ["no Host", "GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400],
  ])("%s is refused as JSON", async (_name, bytes, status) => {
    const [head = "", body = ""] = (await send(bytes)).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(body)).toEqual({ error: { code: "invalid_request", message: expect.any(String) } });
  });

  test("the answer to HEAD has no body, also when its head is too long", async () => {
    const answer = await send(`HEAD ${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 431 [^]*\r\n\r\n$/);
  });
});
