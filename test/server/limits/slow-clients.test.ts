import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const IMPATIENT = { headersTimeout: 1_000, requestTimeout: 2_000, keepAliveTimeout: 1_000, connectionsCheckingInterval: 100 };
const GET = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

describe("a client that takes its time", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({}, { connectionLimits: IMPATIENT, heartbeatMs: 60_000 });
  });
  afterAll(() => running.close());

  /** Sends a piece every 200 ms until the connection is closed, at most for ten seconds; what the service answered. */
  async function trickle(head: string, pieces: string): Promise<string> {
    const connection = await connectTo(running.url);
    connection.socket.write(head);
    let isOpen = true;
    void connection.closed.then(() => (isOpen = false));
    for (let sent = 0; isOpen && sent < 50; sent++) {
      if (pieces !== "") connection.socket.write(pieces);
      await sleep(200);
    }
    expect(isOpen).toBe(false);
    return connection.received();
  }

  test("over the head of its request is dropped with 408", async () => {
    expect(await trickle("GET /healthz HTTP/1.1\r\nhost: localhost\r\n", "x-more: y\r\n")).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("over the body of its request is dropped with 408", async () => {
    const head = "POST /api/v1/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n";
    expect(await trickle(head, "{")).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("and sends nothing at all is dropped", async () => {
    await trickle("", "");
  });

  test("between two requests loses an idle connection, and is told how long it may be idle", async () => {
    expect(await trickle(GET, "")).toMatch(/^HTTP\/1\.1 200 [\s\S]*keep-alive: timeout=1\r\n/i);
  });

  test("with a head beyond 16 KiB is refused with 431", async () => {
    expect(await trickle(`GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-much: ${"x".repeat(17_000)}\r\n\r\n`, "")).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  test("is not one that listens to a slow turn: neither a quiet stream nor a waiting answer is cut", async () => {
    running.model.answer({ tokens: ["late"], firstTokenMs: 4_000 });
    for (const path of ["/api/v1/chat/stream", "/api/v1/chat"]) {
      const connection = await connectTo(running.url);
      connection.socket.write(postBytes(path, { user_id: "ada", session_id: path, message: "hello" }));
      await connection.until('"answer":"late"');
      connection.socket.destroy();
    }
    const stored = await waitUntil("the answer", async () => (await messagesOf(running.url, "ada", "/api/v1/chat"))[1]);
    expect(stored.completed).toBe(true);
  });
});
