import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { AppError } from "../../../../errors/app-error.ts";
import type { Owner } from "../../../../turn/owner.ts";
import { decodeCursor } from "../../../../stores/page.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { contentsOf, operationsOf, teach, versionsOf } from "../../../support/samples/core-memory.ts";

const section = "profile";
/** Names that a pattern, a fold of case, a trim or a separator would take for one another. */
const LOOK_ALIKES = ["ada", "ada ", " ada", "Ada", "ada%", "ad_", "ada'--", 'ada"', "ada,", "ada/", "ada\\", "ada\n", "ad", "adaa", "аda"];

describeStores("the core memory store", ({ database, coreMemory, operations, erases }) => {
  let owner: Owner;
  beforeEach(() => {
    owner = { tenantId: "tenant", userId: uuidv7() };
  });

  const put = (content: string, expectedVersion?: number) => coreMemory.put(owner, { section, content, expectedVersion });
  const written = async () => [await contentsOf(database, owner), await versionsOf(database, owner), await operationsOf(database, owner)];
  const profile = async () => (await contentsOf(database, owner))[section];
  const versions = async () => (await versionsOf(database, owner)).map(({ version, content }) => [version, content]);

  describe("put", () => {
    test("writes a section that was not there as version 1, by a person, and load shows it so", async () => {
      const began = Date.now();
      const first = await put("Lives in Lisbon.");
      expect(first).toMatchObject({ section, content: "Lives in Lisbon.", version: 1, updatedBy: "person" });
      for (const time of [first.updatedAt, first.saidAt]) expect(Math.abs(time.getTime() - began)).toBeLessThan(60_000);
      expect(await coreMemory.load(owner)).toEqual({ sections: [first], lastErasure: null });
    });

    test("keeps the text as it is given", async () => {
      const text = ' "Ada\'s" cat\r\n\n她住在里斯本。 $1 \\n \\u0041 {} 😀\t%s ';
      expect((await put(text)).content).toBe(text);
      expect([await profile(), await versions()]).toEqual([text, [[1, text]]]);
      expect((await operationsOf(database, owner))[0]?.newValue).toBe(text);
    });

    test("counts each section by itself; load has them by name", async () => {
      for (const name of ["profile", "goals", "profile", "constraints"]) await coreMemory.put(owner, { section: name, content: name });
      const { sections } = await coreMemory.load(owner);
      expect(sections.map(({ section: name, version }) => `${name} ${version}`)).toEqual(["constraints 1", "goals 1", "profile 2"]);
    });

    test("refuses another version than the present one, and writes nothing", async () => {
      await expect(put("one", 1)).rejects.toMatchObject({ code: "stale_version" });
      expect(await written()).toEqual([{}, [], []]);
      await put("one");
      await put("two");
      const before = await written();
      for (const expectedVersion of [0, 1, 3]) {
        const problem = expectedVersion === 0 ? "is there already" : `is no longer at version ${expectedVersion}`;
        const message = expect.stringContaining(`"${section}" ${problem}`);
        await expect(put("three", expectedVersion)).rejects.toMatchObject({ name: "AppError", code: "stale_version", message });
      }
      expect(await written()).toEqual(before);
    });

    test("lets exactly one of ten at once through that expect the same version, at each version", async () => {
      for (const expectedVersion of [0, 1, 2]) {
        const racers = Array.from({ length: 10 }, (_, racer) => put(`by ${racer}`, expectedVersion));
        const results = await Promise.allSettled(racers);
        const winners = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
        const losers = results.flatMap((result) => (result.status === "rejected" ? [(result.reason as AppError).code] : []));
        expect(winners).toMatchObject([{ version: expectedVersion + 1 }]);
        expect(losers).toEqual(Array.from({ length: 9 }, () => "stale_version"));
        expect(await profile()).toBe(winners[0]?.content);
      }
      expect((await versions()).map(([version]) => version)).toEqual([1, 2, 3]);
      expect(await operationsOf(database, owner)).toHaveLength(3);
    });

    test("lets all of ten at once through that expect no version, one after another: each replaces the one before", async () => {
      const results = await Promise.all(Array.from({ length: 10 }, (_, racer) => put(`by ${racer}`)));
      const inOrder = results.toSorted((one, other) => one.version - other.version);
      const contents = inOrder.map(({ content }) => content);
      expect(new Set(contents).size).toBe(10);
      expect(inOrder.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await versions()).toEqual(inOrder.map(({ version, content }) => [version, content]));
      const changes = (await operationsOf(database, owner)).map(({ oldValue, newValue }) => [oldValue, newValue]);
      expect(changes).toHaveLength(10);
      expect(changes).toEqual(expect.arrayContaining(contents.map((content, index) => [contents[index - 1] ?? null, content])));
      expect(await profile()).toBe(contents.at(-1));
    });
  });

  describe("remove", () => {
    test("leaves a version without content, and no section; a second time gives null and writes nothing", async () => {
      expect(await coreMemory.remove(owner, { section })).toBeNull();
      await put("one");
      expect(await coreMemory.remove(owner, { section, expectedVersion: 1 })).toMatchObject({ section, content: "", version: 2 });
      expect(await contentsOf(database, owner)).toEqual({});
      expect((await versionsOf(database, owner)).at(-1)).toMatchObject({ version: 2, content: null, updatedBy: "person" });
      const before = await written();
      expect(await coreMemory.remove(owner, { section })).toBeNull();
      expect(await written()).toEqual(before);
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
      expect(await profile()).toBe("one");
      const operation = { oldValue: "three", newValue: "one", reason: "Back to version 1." };
      expect((await operationsOf(database, owner)).at(-1)).toMatchObject(operation);
    });

    test("removes the section when that version had removed it, and brings it back otherwise", async () => {
      expect(await revert(2)).toMatchObject({ content: "", version: 4 });
      expect(await contentsOf(database, owner)).toEqual({});
      expect((await versions()).at(-1)).toEqual([4, null]);
      expect(await revert(3, 0)).toMatchObject({ content: "three", version: 5 });
      expect(await profile()).toBe("three");
    });

    test("gives null for a version that never was, also when another section has it", async () => {
      for (const content of ["a", "b", "c", "d"]) await coreMemory.put(owner, { section: "goals", content });
      const before = await written();
      for (const version of [0, 4, -1]) expect(await revert(version)).toBeNull();
      expect(await written()).toEqual(before);
    });

    test("and remove refuse a version that is no longer there", async () => {
      await expect(revert(1, 2)).rejects.toMatchObject({ code: "stale_version" });
      await expect(coreMemory.remove(owner, { section, expectedVersion: 2 })).rejects.toMatchObject({ code: "stale_version" });
      expect(await profile()).toBe("three");
    });
  });

  test("history has the newest first, in pages, and an agent's version with its source", async () => {
    for (const content of ["one", "two"]) await put(content);
    const from = { conversationId: uuidv7(), triggerMessageId: uuidv7() };
    const { conversationId, triggerMessageId } = from;
    await teach(database, owner, { content: "Has a cat.", conversationId, triggerMessageIds: [uuidv7(), triggerMessageId] });
    const page = (before: number | null) => coreMemory.history(owner, section, { limit: 2, before });
    const taught = { version: 3, content: "Has a cat.", updatedBy: "agent", createdAt: expect.any(Date), ...from };
    expect(await page(null)).toEqual([taught, expect.objectContaining({ version: 2, content: "two" })]);
    expect(await page(2)).toMatchObject([{ version: 1, content: "one", conversationId: null, triggerMessageId: null }]);
    expect(await page(1)).toEqual([]);
    expect(await coreMemory.history(owner, "goals", { limit: 3, before: null })).toEqual([]);
  });

  test("every edit is a version and an operation by a person; after a removal the numbers go on, and 0 is the version to expect", async () => {
    await put("one");
    await put("two", 1);
    await coreMemory.remove(owner, { section });
    await expect(put("three", 3)).rejects.toMatchObject({ code: "stale_version" });
    expect(await put("three", 0)).toMatchObject({ version: 4 });
    const from = { conversationId: null, triggerMessageIds: [], refused: null, kbPrefix: null };
    const ofArchive = { episodeType: null, importance: null, resultsCount: null, topResult: null };
    const same = { ...ofArchive, operation: "core_update", section, actor: "person", reason: null, ...from };
    const values = [null, "one", "two", null, "three"];
    expect(await versions()).toEqual(values.map((value, version) => [version, value]).slice(1));
    expect(await operationsOf(database, owner)).toEqual(
      values.slice(1).map((newValue, index) => {
        const told = { id: expect.any(String), createdAt: expect.any(Date), version: index + 1 };
        return { ...same, ...told, oldValue: values[index], newValue };
      }),
    );
  });

  test("operations page from the newest on, each once, all or those of one message", async () => {
    for (const content of ["1", "2", "3"]) await put(content);
    const trigger = uuidv7();
    await teach(database, owner, { content: "4", triggerMessageIds: [uuidv7(), trigger, uuidv7()] });
    const first = await operations.list(owner, { limit: 3, after: null });
    const last = await operations.list(owner, { limit: 3, after: decodeCursor(first.next ?? "") });
    expect([first, last].map(({ items }) => items.map(({ newValue }) => newValue))).toEqual([["4", "3", "2"], ["1"]]);
    expect(last.next).toBeNull();
    const listOf = (messageId: string) => operations.list(owner, { limit: 10, after: null }, messageId);
    expect((await listOf(trigger)).items).toMatchObject([{ newValue: "4" }]);
    expect((await listOf(uuidv7())).items).toEqual([]);
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
