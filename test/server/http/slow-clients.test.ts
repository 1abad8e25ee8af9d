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
      "between two requests is told how long, and loses the connection",
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

  test("is not one that waits for a slow turn: neither a quiet stream nor a waiting answer is cut", async () => {
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

describe("background work lets requests go first", () => {
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

  test.each([undefined, "/api/v1/conversations/id/settle"])("at once when no other is open than %s", async (path) => {
    if (path) open(path);
    expect(await Promise.race([idle.whenIdle().then(() => "idle"), sleep(1, "a millisecond")])).toBe("idle");
  });

  test("while one is open, and for a pause after its end", async () => {
    const happened: string[] = [];
    const close = open();
    const closed = sleep(10).then(() => {
      happened.push("closed");
      close();
    });
    expect(await Promise.all([idle.whenIdle().then(() => [...happened]), closed])).toEqual([["closed"], undefined]);
  });

  test("but not for ever: one that stays open, or one after the other, holds it up for two seconds", async () => {
    open();
    await idle.whenIdle();
    const requests = setInterval(() => open()(), 2);
    await idle.whenIdle();
    clearInterval(requests);
  });

  test("and not at all while a request waits for background work", async () => {
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
