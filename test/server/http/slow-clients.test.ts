import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, beforeEach } from "@jest/globals";
import { connectTo, postBytes } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { EventEmitter } from "node:events";
import type { Request, Response } from "express";
import { makeIdleDetector, type IdleDetector } from "../../../server/http/idle-detector.ts";

const IMPATIENT = { headersTimeout: 3_000, requestTimeout: 3_000, keepAliveTimeout: 1_000, connectionsCheckingInterval: 100 };
const HEAD = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n";
const POST = "POST /api/v1/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n";
describe("a client that takes its time", () => {
  const running = useServiceWithModel({}, { connectionLimits: IMPATIENT, heartbeatMs: 60_000 });

  test.each([
    ["over the head of its request is dropped with 408", HEAD, "x-more: y\r\n", /^HTTP\/1\.1 408 /],
    ["over the body of its request is dropped with 408", POST, "{", /^HTTP\/1\.1 408 /],
    ["and sends nothing at all is dropped", "", "", /^/],
    [
      "between two requests is told the limit, and loses its connection",
      `${HEAD}\r\n`,
      "",
      /^HTTP\/1\.1 200 [^]*keep-alive: timeout=1\r\n/i,
    ],
  ])("%s", async (_title, head, piece, answer) => {
    const connection = await connectTo(running.url);
    connection.socket.write(head);
    const timer = setInterval(() => void (piece !== "" && connection.socket.write(piece)), 200);
    expect(await Promise.race([connection.closed.then(() => "closed"), sleep(10_000, "open", { ref: false })])).toBe("closed");
    clearInterval(timer);
    expect(connection.received()).toMatch(answer);
  });

  test("is not cut off when it waits for a slow turn, on a quiet stream or for a whole answer", async () => {
    running.model.answer({ tokens: ["late"], firstTokenMs: 5_000 });
    const paths = ["/api/v1/chat/stream", "/api/v1/chat"];
    await Promise.all(
      paths.map(async (path) => {
        const connection = await connectTo(running.url);
        connection.socket.write(postBytes(path, { user_id: "ada", session_id: path, message: "hello" }));
        await connection.until('"answer":"late"');
        connection.socket.destroy();
      }),
    );
  });
});

describe("background work", () => {
  let idle: IdleDetector;
  beforeEach(() => {
    idle = makeIdleDetector();
  });

  /** A request that is open until the returned function is called. */
  function open(path = "/api/v1/chat"): () => void {
    const response = new EventEmitter();
    idle.middleware({ method: "POST", path } as Request, response as unknown as Response, () => undefined);
    return () => void response.emit("close");
  }

  test.each([undefined, "/api/v1/conversations/id/settle"])("begins at once when no other request is open than %s", async (path) => {
    if (path) open(path);
    expect(await Promise.race([idle.whenIdle().then(() => "idle"), sleep(1, "a millisecond")])).toBe("idle");
  });

  test("waits while a request is open, and for a pause after its end", async () => {
    const happened: string[] = [];
    const close = open();
    const closed = sleep(10).then(() => {
      happened.push("closed");
      close();
    });
    expect(await Promise.all([idle.whenIdle().then(() => [...happened]), closed])).toEqual([["closed"], undefined]);
  });

  test("waits two seconds at most when a request stays open or one follows the other", async () => {
    open();
    await idle.whenIdle();
    const requests = setInterval(() => open()(), 2);
    await idle.whenIdle();
    clearInterval(requests);
  });

  test("does not wait while a request is waiting for background work", async () => {
    open();
    const happened: string[] = [];
    const waiting = idle.whenIdle().then(() => happened.push("work"));
    await sleep(5);
    happened.push("settle");
    const settled = open("/api/v1/conversations/id/settle");
    await waiting;
    await idle.whenIdle();
    settled();
    const again = idle.whenIdle().then(() => happened.push("work"));
    await sleep(5);
    happened.push("later");
    await again;
    expect(happened).toEqual(["settle", "work", "later", "work"]);
  });
});
