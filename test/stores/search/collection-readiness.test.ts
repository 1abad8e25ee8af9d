import { expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { makeReadiness } from "../../../stores/search/milvus/collection-readiness.ts";
import { MilvusRefusal } from "../../../stores/search/milvus/milvus-errors.ts";

const PATIENCE_MS = 60_000;

/** A collection that is there once it was created; what happened to it, in order. */
function collection({ isThere = true, preparingMs = 0, isLite = true } = {}) {
  const happened: string[] = [];
  const looks: boolean[] = [];
  let there = isThere;
  return {
    happened,
    /** What each question whether it is there was answered. */
    looks,
    /** Another process makes or drops it. */
    change: (isThereNow: boolean) => void (there = isThereNow),
    isLite: async () => isLite,
    async isThere() {
      looks.push(there);
      return there;
    },
    async prepare(creates: boolean) {
      happened.push(creates ? "create" : "prepare");
      await sleep(preparingMs);
      there ||= creates;
      return there;
    },
  };
}

test("the first write waits until whoever opened the collection at the same time is done; the second does not", async () => {
  const ready = makeReadiness(collection({ preparingMs: 400 }), PATIENCE_MS);
  await ready.prepare(true);
  const first = ready.write(async () => "written");
  expect(await Promise.race([first, sleep(200, "waits")])).toBe("waits");
  await first;
  expect(await Promise.race([ready.write(async () => "written"), sleep(200, "waits")])).toBe("written");
});

test("the first write to a server that is not Milvus Lite does not wait", async () => {
  const ready = makeReadiness(collection({ preparingMs: 400, isLite: false }), PATIENCE_MS);
  await ready.prepare(true);
  expect(await Promise.race([ready.write(async () => "written"), sleep(200, "waits")])).toBe("written");
});

test("a write that the server has no collection for is repeated on one that is made anew, once", async () => {
  const { happened, ...parts } = collection();
  const ready = makeReadiness(parts, PATIENCE_MS);
  let writes = 0;
  const write = async (): Promise<string> => {
    happened.push("write");
    if (++writes === 1) throw new MilvusRefusal(100, "not found");
    return "written";
  };
  expect(await ready.write(write)).toBe("written");
  expect(happened).toEqual(["create", "write", "create", "write"]);
  const never = ready.write(() => Promise.reject(new MilvusRefusal(100, "not found")));
  await expect(never).rejects.toMatchObject({ code: "index_unavailable", retryable: true });
});

test("a write that is refused otherwise is left to its caller, and the next one prepares anew", async () => {
  const { happened, ...parts } = collection();
  const ready = makeReadiness(parts, PATIENCE_MS);
  const lost = ready.write(() => Promise.reject(new MilvusRefusal("lost", "1 of the documents is not there")));
  await expect(lost).rejects.toMatchObject({ code: "index_unavailable", retryable: true });
  await ready.write(async () => undefined);
  expect(happened).toEqual(["create", "create"]);
});

test("a write that finds an attempt under way that creates nothing creates after it", async () => {
  const { happened, ...parts } = collection({ isThere: false, preparingMs: 20 });
  const ready = makeReadiness(parts, PATIENCE_MS);
  const [found, written] = await Promise.all([ready.prepare(false), ready.write(async () => "written")]);
  expect({ found, written }).toEqual({ found: false, written: "written" });
  expect(happened).toEqual(["prepare", "create"]);
});

test("reading and erasing what is not there has an answer at once and creates nothing", async () => {
  const { happened, ...parts } = collection({ isThere: false });
  const ready = makeReadiness(parts, PATIENCE_MS);
  const never = (): Promise<string> => Promise.reject(new Error("was called"));
  expect(await Promise.all([ready.read(never, "nothing"), ready.change(never, "nothing")])).toEqual(["nothing", "nothing"]);
  expect(happened).not.toContain("create");
});

test("a read asks what is there at once, and prepares only what is refused", async () => {
  const { happened, ...parts } = collection();
  const ready = makeReadiness(parts, PATIENCE_MS);
  expect(await ready.read(async () => "found", "nothing")).toBe("found");
  expect(happened).toEqual([]);
  let asked = 0;
  const released = async (): Promise<string> => {
    if (++asked === 1) throw new MilvusRefusal(101, "not loaded");
    return "found";
  };
  expect(await ready.read(released, "nothing")).toBe("found");
  expect(happened).toEqual(["prepare"]);
});

test("what another process has made is looked for until a read finds it, and again when the server has lost it", async () => {
  const { happened, looks, change, ...parts } = collection({ isThere: false });
  const ready = makeReadiness(parts, PATIENCE_MS);
  let isLost = false;
  const search = (): Promise<string> => (isLost ? Promise.reject(new MilvusRefusal(100, "not found")) : Promise.resolve("found"));
  const read = (): Promise<string> => ready.read(search, "nothing");
  expect(await read()).toBe("nothing");
  change(true);
  expect([await read(), await read(), await read()]).toEqual(["found", "found", "found"]);
  expect(looks).toEqual([false, true]);
  change(false);
  isLost = true;
  expect([await read(), await read()]).toEqual(["nothing", "nothing"]);
  expect(looks).toEqual([false, true, false]);
  expect(happened).toEqual(["prepare"]);
});
