import { describe, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { connectTo, type RawConnection } from "../../support/clients/raw-connection.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { useTestService } from "../../support/services/service.ts";

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
  ])("of %s, %s, is refused by its Content-Length before it is sent, or as soon as it passes the limit", async (route, type) => {
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

  test("that is sent on after its refusal is not kept, and its client gets the answer", async () => {
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

  test("leaves the service as it was: a body within the limit is taken, chunked or not", async () => {
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
