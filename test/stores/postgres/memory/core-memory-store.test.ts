import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../../errors/app-error.ts";
import type { Owner } from "../../../../stores/owner.ts";
import { makeCoreMemoryStore, type CoreMemoryStore } from "../../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import { contentsOf, operationsOf, versionsOf } from "../../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";

const section = "profile";
/** Names that a pattern, a fold of case, a trim or a separator would take for one another. */
const LOOK_ALIKES = ["ada", "ada ", " ada", "Ada", "ada%", "ad_", "ada'--", 'ada"', "ada,", "ada/", "ada\\", "ada\n", "ad", "adaa", "аda"];

describeOnBothDatabases("the core memory store", (open) => {
  let database: Database;
  let coreMemory: CoreMemoryStore;
  let owner: Owner;
  beforeAll(async () => {
    database = await open();
    coreMemory = makeCoreMemoryStore(database);
  });
  beforeEach(() => {
    owner = { tenantId: "tenant", userId: uuidv7() };
  });
  afterAll(() => database.close());

  const put = (content: string, expectedVersion?: number) => coreMemory.put(owner, { section, content, expectedVersion });
  const written = async () => [await contentsOf(database, owner), await versionsOf(database, owner), await operationsOf(database, owner)];

  describe("put", () => {
    test("writes a section that was not there as version 1, by a person, and load shows it so", async () => {
      const began = Date.now();
      const put1 = await put("Lives in Lisbon.");
      expect(put1).toMatchObject({ section, content: "Lives in Lisbon.", version: 1, updatedBy: "person" });
      for (const time of [put1.updatedAt, put1.saidAt]) expect(Math.abs(time.getTime() - began)).toBeLessThan(60_000);
      expect(await coreMemory.load(owner)).toEqual({ sections: [put1], lastErasure: null });
    });

    test("replaces what is there, as the next version", async () => {
      await put("Lives in Lisbon.");
      expect(await put("Lives in Porto.")).toMatchObject({ content: "Lives in Porto.", version: 2 });
      expect(await contentsOf(database, owner)).toEqual({ profile: "Lives in Porto." });
      expect((await versionsOf(database, owner)).map(({ version, content }) => [version, content])).toEqual([
        [1, "Lives in Lisbon."],
        [2, "Lives in Porto."],
      ]);
    });

    test("keeps the text as it is given", async () => {
      const text = ' "Ada\'s" cat\r\n\n她住在里斯本。 $1 \\n \\u0041 {} 😀\t%s ';
      expect((await put(text)).content).toBe(text);
      expect(await contentsOf(database, owner)).toEqual({ profile: text });
      expect((await versionsOf(database, owner))[0]?.content).toBe(text);
      expect((await operationsOf(database, owner))[0]?.newValue).toBe(text);
    });

    test("counts each section by itself; load has them by name", async () => {
      for (const name of ["profile", "goals", "profile", "constraints"]) await coreMemory.put(owner, { section: name, content: name });
      const { sections } = await coreMemory.load(owner);
      expect(sections.map(({ section: name, version }) => [name, version])).toEqual([
        ["constraints", 1],
        ["goals", 1],
        ["profile", 2],
      ]);
    });

    test("takes the version that is expected", async () => {
      await put("one", 0);
      await put("two", 1);
      expect(await put("three", 2)).toMatchObject({ version: 3 });
    });

    test.each([0, 1, 3])("refuses version %i when the section is at 2, and writes nothing", async (expectedVersion) => {
      await put("one");
      await put("two");
      const before = await written();
      const refused = await put("three", expectedVersion).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(AppError);
      expect(refused).toMatchObject({ code: "stale_version", message: expect.stringContaining(`"${section}"`) });
      expect(await written()).toEqual(before);
    });

    test("refuses any version but 0 when there is no such section", async () => {
      await expect(put("one", 1)).rejects.toMatchObject({ code: "stale_version" });
      expect(await written()).toEqual([{}, [], []]);
    });

    test("of ten at once that expect the same version lets exactly one through, at each version", async () => {
      for (const expectedVersion of [0, 1, 2]) {
        const racers = Array.from({ length: 10 }, (_, racer) => put(`by ${racer}`, expectedVersion));
        const results = await Promise.allSettled(racers);
        const winners = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
        const losers = results.flatMap((result) => (result.status === "rejected" ? [(result.reason as AppError).code] : []));
        expect(winners).toMatchObject([{ version: expectedVersion + 1 }]);
        expect(losers).toEqual(Array.from({ length: 9 }, () => "stale_version"));
        expect(await contentsOf(database, owner)).toEqual({ profile: winners[0]?.content });
      }
      expect((await versionsOf(database, owner)).map(({ version }) => version)).toEqual([1, 2, 3]);
      expect(await operationsOf(database, owner)).toHaveLength(3);
    });

    test("of ten at once that expect nothing lets all through one after another: each replaces the one before", async () => {
      const results = await Promise.all(Array.from({ length: 10 }, (_, racer) => put(`by ${racer}`)));
      const inOrder = results.toSorted((one, other) => one.version - other.version);
      const contents = inOrder.map(({ content }) => content);
      expect(inOrder.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(new Set(contents).size).toBe(10);
      expect((await versionsOf(database, owner)).map(({ content }) => content)).toEqual(contents);
      const changes = (await operationsOf(database, owner)).map(({ oldValue, newValue }) => [oldValue, newValue]);
      const expected = contents.map((content, index) => [contents[index - 1] ?? null, content]);
      expect(changes).toHaveLength(10);
      expect(changes).toEqual(expect.arrayContaining(expected));
      expect(await contentsOf(database, owner)).toEqual({ profile: contents.at(-1) });
    });
  });

  describe("remove", () => {
    test("leaves a version without content, and no section", async () => {
      await put("one");
      expect(await coreMemory.remove(owner, { section, expectedVersion: 1 })).toMatchObject({ section, content: "", version: 2 });
      expect(await contentsOf(database, owner)).toEqual({});
      expect((await versionsOf(database, owner)).at(-1)).toMatchObject({ version: 2, content: null, updatedBy: "person" });
    });

    test("of what is not there gives null and writes nothing", async () => {
      expect(await coreMemory.remove(owner, { section })).toBeNull();
      await put("one");
      await coreMemory.remove(owner, { section });
      const before = await written();
      expect(await coreMemory.remove(owner, { section })).toBeNull();
      expect(await written()).toEqual(before);
    });

    test("refuses a version that is no longer there", async () => {
      await put("one");
      await put("two");
      await expect(coreMemory.remove(owner, { section, expectedVersion: 1 })).rejects.toMatchObject({ code: "stale_version" });
      expect(await contentsOf(database, owner)).toEqual({ profile: "two" });
    });

    test("lets the numbers go on when the section is written again, for which 0 is the version to expect", async () => {
      await put("one");
      await coreMemory.remove(owner, { section });
      await expect(put("three", 2)).rejects.toMatchObject({ code: "stale_version" });
      expect(await put("three", 0)).toMatchObject({ version: 3 });
      expect((await versionsOf(database, owner)).map(({ content }) => content)).toEqual(["one", null, "three"]);
      expect((await operationsOf(database, owner)).at(-1)).toMatchObject({ oldValue: null, newValue: "three" });
    });
  });

  describe("revert", () => {
    const revert = (version: number, expectedVersion?: number) => coreMemory.revert(owner, { section, version, expectedVersion });
    beforeEach(async () => {
      await put("one");
      await coreMemory.remove(owner, { section });
      await put("three");
    });

    test("writes what an earlier version said as a new one, and says why", async () => {
      expect(await revert(1, 3)).toMatchObject({ content: "one", version: 4, updatedBy: "person" });
      expect(await contentsOf(database, owner)).toEqual({ profile: "one" });
      expect((await operationsOf(database, owner)).at(-1)).toMatchObject({
        oldValue: "three",
        newValue: "one",
        reason: "Back to version 1.",
      });
    });

    test("to a version that removed the section removes it", async () => {
      expect(await revert(2)).toMatchObject({ content: "", version: 4 });
      expect(await contentsOf(database, owner)).toEqual({});
      expect((await versionsOf(database, owner)).at(-1)).toMatchObject({ version: 4, content: null });
    });

    test("brings back a section that was removed", async () => {
      await coreMemory.remove(owner, { section });
      expect(await revert(3, 0)).toMatchObject({ content: "three", version: 5 });
      expect(await contentsOf(database, owner)).toEqual({ profile: "three" });
    });

    test("gives null for a version that never was, also when another section has it", async () => {
      for (const content of ["a", "b", "c", "d"]) await coreMemory.put(owner, { section: "goals", content });
      const before = await written();
      for (const version of [0, 4, -1]) expect(await revert(version)).toBeNull();
      expect(await written()).toEqual(before);
    });

    test("refuses a version that is no longer there", async () => {
      await expect(revert(1, 2)).rejects.toMatchObject({ code: "stale_version" });
      expect(await contentsOf(database, owner)).toEqual({ profile: "three" });
    });
  });

  test("users and tenants with look-alike names see nothing of each other's", async () => {
    const tenantId = uuidv7();
    const owners = LOOK_ALIKES.flatMap((name) => [
      { tenantId, userId: name },
      { tenantId: `${tenantId}${name}`, userId: "same" },
    ]);
    for (const one of owners) await coreMemory.put(one, { section, content: JSON.stringify(one), expectedVersion: 0 });
    for (const one of owners) {
      expect(await contentsOf(database, one)).toEqual({ profile: JSON.stringify(one) });
      expect(await versionsOf(database, one)).toMatchObject([{ version: 1, content: JSON.stringify(one) }]);
      expect(await operationsOf(database, one)).toMatchObject([{ newValue: JSON.stringify(one) }]);
    }
    const [first, ...others] = owners;
    if (!first) throw new Error("there is no owner");
    await coreMemory.remove(first, { section });
    expect(await coreMemory.revert({ ...first, userId: `${first.userId}  ` }, { section, version: 1 })).toBeNull();
    for (const one of others) expect(await contentsOf(database, one)).toEqual({ profile: JSON.stringify(one) });
  });

  test("lastErasure is the moment of the last erase of this very user, and of no other erase", async () => {
    const erases = makeEraseStore(database);
    const lastErasure = async (of = owner): Promise<string | null> => (await coreMemory.load(of)).lastErasure;
    await erases.user({ ...owner, userId: `${owner.userId} ` });
    expect(await lastErasure()).toBeNull();
    await put("one");
    await erases.user(owner);
    const first = await lastErasure();
    expect(first).not.toBeNull();
    expect(await coreMemory.load(owner)).toMatchObject({ sections: [] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await erases.user(owner);
    expect(await lastErasure()).not.toBe(first);
    expect(await lastErasure({ ...owner, tenantId: "other" })).toBeNull();
  });
});
