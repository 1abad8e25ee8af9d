import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../stores/owner.ts";
import { decodeCursor } from "../../../../stores/page.ts";
import { makeCoreMemoryStore, type CoreMemoryStore } from "../../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeOperationStore } from "../../../../stores/postgres/memory/operation-store.ts";
import { operationsOf, teach } from "../../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";

const section = "profile";

describeOnBothDatabases("the history of core memory", (open) => {
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

  test("history has the newest first, and pages without a gap and without a repeat", async () => {
    for (let version = 1; version <= 7; version++) await put(`content ${version}`);
    const page = async (before: number | null) =>
      (await coreMemory.history(owner, section, { limit: 3, before })).map(({ version, content }) => [version, content]);
    const entries = (...versions: number[]) => versions.map((version) => [version, `content ${version}`]);
    expect(await page(null)).toEqual(entries(7, 6, 5));
    expect(await page(5)).toEqual(entries(4, 3, 2));
    expect(await page(2)).toEqual(entries(1));
    expect(await page(1)).toEqual([]);
    expect(await coreMemory.history(owner, "goals", { limit: 3, before: null })).toEqual([]);
  });

  test("history tells an agent's version and where it comes from", async () => {
    const from = { conversationId: uuidv7(), triggerMessageId: uuidv7() };
    const { conversationId, triggerMessageId } = from;
    await teach(database, owner, { content: "Has a cat.", conversationId, triggerMessageIds: [uuidv7(), triggerMessageId] });
    const version = { version: 1, content: "Has a cat.", updatedBy: "agent", createdAt: expect.any(Date), ...from };
    expect(await coreMemory.history(owner, section, { limit: 3, before: null })).toEqual([version]);
  });

  test("every edit is an operation by a person, with its version and what was there before and after", async () => {
    await put("one");
    await put("two", 1);
    await coreMemory.remove(owner, { section });
    const from = { conversationId: null, triggerMessageIds: [], refused: null };
    const same = { operation: "core_update", section, actor: "person", reason: null, ...from };
    const log = await operationsOf(database, owner);
    const told = { id: expect.any(String), createdAt: expect.any(Date) };
    expect(log).toEqual([
      { ...same, ...told, version: 1, oldValue: null, newValue: "one" },
      { ...same, ...told, version: 2, oldValue: "one", newValue: "two" },
      { ...same, ...told, version: 3, oldValue: "two", newValue: null },
    ]);
  });

  test("operations page from the newest on, each once", async () => {
    for (let version = 1; version <= 5; version++) await put(`content ${version}`);
    const operations = makeOperationStore(database);
    const seen: (string | null)[][] = [];
    for (let next: string | null | undefined; next !== null;) {
      const page = await operations.list(owner, { limit: 2, after: next ? decodeCursor(next) : null });
      seen.push(page.items.map(({ newValue }) => newValue));
      next = page.next;
    }
    expect(seen).toEqual([["content 5", "content 4"], ["content 3", "content 2"], ["content 1"]]);
  });

  test("operations can be only those that one message gave rise to", async () => {
    await put("content 1");
    await put("content 2");
    const operations = makeOperationStore(database);
    const page = { limit: 10, after: null };
    const [newest] = (await operations.list(owner, page)).items;
    const trigger = uuidv7();
    const values = [trigger, newest?.id ?? null];
    await database.query({ text: "update memory_operations set trigger_message_ids = array[$1::uuid] where id = $2", values });
    expect((await operations.list(owner, page, trigger)).items.map(({ newValue }) => newValue)).toEqual(["content 2"]);
    expect((await operations.list(owner, page, uuidv7())).items).toEqual([]);
  });
});
