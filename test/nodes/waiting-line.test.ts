import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { makeKeyedQueue } from "../../nodes/acquire-conversation.ts";

describe("the waiting line", () => {
  test("lets those with the same key through one after another, first come, first served", async () => {
    const line = makeKeyedQueue();
    const happened: string[] = [];
    const visits = ["first", "second", "third"].map((name) =>
      line.run("key", async () => {
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
    const line = makeKeyedQueue();
    const held = Promise.withResolvers<void>();
    const holder = line.run("key", () => held.promise);
    expect(await line.run("another", async () => "through")).toBe("through");
    held.resolve();
    await holder;
  });

  test("goes on after one that failed, whose failure stays its own", async () => {
    const line = makeKeyedQueue();
    const failure = new Error("changed my mind");
    const failing = line.run("key", () => Promise.reject(failure));
    const next = line.run("key", async () => "through");
    await expect(failing).rejects.toBe(failure);
    expect(await next).toBe("through");
    expect(await line.run("key", async () => "later")).toBe("later");
  });

  test("puts one that comes while somebody is inside behind those that wait", async () => {
    const line = makeKeyedQueue();
    const happened: string[] = [];
    const first = line.run("key", async () => {
      await nextTick();
      happened.push("first");
    });
    const second = line.run("key", async () => void happened.push("second"));
    await nextTick();
    const third = line.run("key", async () => void happened.push("third"));
    await Promise.all([first, second, third]);
    expect(happened).toEqual(["first", "second", "third"]);
  });

  test("lets one that gives up go at once, and keeps those behind it in order", async () => {
    const line = makeKeyedQueue();
    const held = Promise.withResolvers<void>();
    const happened: string[] = [];
    const holder = line.run("key", () => held.promise).then(() => happened.push("holder"));
    const giving = new AbortController();
    const quitter = line.run("key", async () => happened.push("quitter"), giving.signal);
    const patient = line.run("key", async () => happened.push("patient"));
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
