import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { makeWaitingLine } from "../../nodes/waiting-line.ts";

describe("the waiting line", () => {
  test("lets those with the same key through one after another, first come, first served", async () => {
    const line = makeWaitingLine();
    const happened: string[] = [];
    const visits = ["first", "second", "third"].map((name) =>
      line.inTurn("key", async () => {
        happened.push(`${name} in`);
        await nextTick();
        happened.push(`${name} out`);
        return name;
      }),
    );
    expect(await Promise.all(visits)).toEqual(["first", "second", "third"]);
    expect(happened).toEqual(["first in", "first out", "second in", "second out", "third in", "third out"]);
  });

  test("does not hold up another key", async () => {
    const line = makeWaitingLine();
    const held = Promise.withResolvers<void>();
    const holder = line.inTurn("key", () => held.promise);
    expect(await line.inTurn("another", async () => "through")).toBe("through");
    held.resolve();
    await holder;
  });

  test("goes on after one that failed, whose failure stays its own", async () => {
    const line = makeWaitingLine();
    const failure = new Error("changed my mind");
    const failing = line.inTurn("key", () => Promise.reject(failure));
    const next = line.inTurn("key", async () => "through");
    await expect(failing).rejects.toBe(failure);
    expect(await next).toBe("through");
    expect(await line.inTurn("key", async () => "later")).toBe("later");
  });

  test("puts one that comes while somebody is inside behind those that wait", async () => {
    const line = makeWaitingLine();
    const happened: string[] = [];
    const first = line.inTurn("key", async () => {
      await nextTick();
      happened.push("first");
    });
    const second = line.inTurn("key", async () => void happened.push("second"));
    await nextTick();
    const third = line.inTurn("key", async () => void happened.push("third"));
    await Promise.all([first, second, third]);
    expect(happened).toEqual(["first", "second", "third"]);
  });

  test("lets one that gives up go at once, and keeps those behind it in order", async () => {
    const line = makeWaitingLine();
    const held = Promise.withResolvers<void>();
    const happened: string[] = [];
    const holder = line.inTurn("key", () => held.promise).then(() => happened.push("holder"));
    const giving = new AbortController();
    const quitter = line.inTurn("key", async () => happened.push("quitter"), giving.signal);
    const patient = line.inTurn("key", async () => happened.push("patient"));
    const reason = new Error("no more patience");
    giving.abort(reason);
    await expect(quitter).rejects.toBe(reason);
    await nextTick();
    expect(happened).toEqual([]);
    held.resolve();
    await Promise.all([holder, patient]);
    expect(happened).toEqual(["holder", "patient"]);
  });
});
