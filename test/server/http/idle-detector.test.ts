import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Request, Response } from "express";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeIdleDetector, type IdleDetector } from "../../../server/http/idle-detector.ts";

describe("background work lets requests go first", () => {
  let first: IdleDetector;
  beforeEach(() => {
    first = makeIdleDetector();
  });

  /** A request that is open until it is called. */
  function open(request: Partial<Request> = { method: "POST", path: "/api/v1/chat" }): () => void {
    const response = new EventEmitter();
    first.middleware(request as Request, response as unknown as Response, () => undefined);
    return () => void response.emit("close");
  }
  /** Whether it was quiet, and what had happened until then. */
  async function untilQuiet(happened: string[]): Promise<string[]> {
    await first.whenIdle();
    return [...happened, "quiet"];
  }

  test("at once when there are none", async () => {
    const happened: string[] = [];
    const later = sleep(1).then(() => void happened.push("a millisecond"));
    expect(await untilQuiet(happened)).toEqual(["quiet"]);
    await later;
  });

  test("while one is open, and for a pause after its end", async () => {
    const happened: string[] = [];
    const close = open();
    const closed = sleep(10).then(() => {
      happened.push("closed");
      close();
    });
    expect(await Promise.all([first.whenIdle().then(() => [...happened]), closed])).toEqual([["closed"], undefined]);
  });

  test("and not for one that waits for the background work", async () => {
    open({ method: "POST", path: "/api/v1/conversations/id/settle" });
    const happened: string[] = [];
    const later = sleep(1).then(() => void happened.push("a millisecond"));
    expect(await untilQuiet(happened)).toEqual(["quiet"]);
    await later;
  });

  test("but not for ever: one that stays open, or one after the other, holds it up for a quarter of a second", async () => {
    open();
    await first.whenIdle();
    const requests = setInterval(() => open()(), 2);
    await first.whenIdle();
    clearInterval(requests);
  });
});
