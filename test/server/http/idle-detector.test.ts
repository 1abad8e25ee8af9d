import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Request, Response } from "express";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeIdleDetector, type IdleDetector } from "../../../server/http/idle-detector.ts";

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
