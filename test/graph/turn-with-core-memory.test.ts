import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { ConversationGraphParts } from "../../graph/create-conversation-graph.ts";
import { startTurn } from "../../graph/start-turn.ts";
import type { TurnResult } from "../../turn/events.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openGraphWithModel, type GraphWithModel } from "../support/services/graph-with-model.ts";

describe("a turn with core memory", () => {
  let opened: GraphWithModel;
  let owner: { tenantId: string; userId: string };
  beforeAll(async () => {
    opened = await openGraphWithModel({ coreMemory: { timeoutMs: 10_000 } });
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer({ tokens: ["Hi ", "there."] });
    opened.server.seen.splice(0);
    owner = { tenantId: "tenant", userId: crypto.randomUUID() };
  });

  const write = (section: string, content: string) => makeCoreMemoryStore(opened.database).put(owner, { section, content });
  const systemText = (request = -1): string => opened.server.seen.at(request)?.body.messages[0]?.content ?? "";

  async function say(message: string, parts: Partial<ConversationGraphParts> = {}, sessionId = "s"): Promise<TurnResult> {
    const last = await startTurn(opened.makeGraph(parts), { ...owner, sessionId, message }).ended;
    if (last.status !== "done") throw new Error(JSON.stringify(last));
    return last.content;
  }

  /** The database, in which loading core memory ends like this. */
  const where = (load: () => Promise<never>): Database => ({
    ...opened.database,
    query: (statement) => (statement.name === "core-memory-load" ? load() : opened.database.query(statement)),
  });

  test("gives the model its sections in every session, and lists them in the receipt with their versions", async () => {
    await write("profile", "Name: Bob");
    await write("profile", "Name: Ada");
    await write("goals", "To sail");
    const { receipt, degraded } = await say("hello");
    expect(systemText()).toMatch(/<core_memory>\n\[goals\]\n> To sail\n\[profile\]\n> Name: Ada\n<\/core_memory>$/);
    expect(receipt.core_memory).toEqual([
      { section: "goals", version: 1 },
      { section: "profile", version: 2 },
    ]);
    expect(degraded).toEqual([]);
    const before = systemText();
    await say("hello again", {}, "another session");
    expect(systemText()).toBe(before);
  });

  test("takes a change from the next turn on, and until then begins its prompts with the same bytes", async () => {
    await write("profile", "Name: Bob");
    await say("one");
    await say("two");
    const [earlier, next] = opened.server.seen.map(({ body }) => body.messages);
    expect(next?.slice(0, earlier?.length)).toEqual(earlier);
    await write("profile", "Name: Ada");
    const { receipt } = await say("three");
    expect(receipt.core_memory).toEqual([{ section: "profile", version: 2 }]);
    expect(systemText()).toContain("Name: Ada");
    expect(systemText()).not.toContain("Name: Bob");
    await makeCoreMemoryStore(opened.database).remove(owner, { section: "profile" });
    expect((await say("four")).receipt.core_memory).toEqual([]);
    expect(systemText()).not.toContain("core_memory");
  });

  test("gives it nothing of another user or tenant", async () => {
    await write("profile", "Name: Ada");
    for (const other of [{ userId: crypto.randomUUID() }, { tenantId: "another" }]) {
      await startTurn(opened.makeGraph(), { ...owner, ...other, sessionId: "s", message: "hello" }).ended;
      expect(systemText()).not.toContain("Ada");
    }
  });

  test("with the layer switched off takes no notice of it", async () => {
    await write("profile", "Name: Ada");
    const { receipt, degraded } = await say("hello", { coreMemory: null });
    expect(systemText()).not.toContain("Ada");
    expect({ sections: receipt.core_memory, degraded }).toEqual({ sections: [], degraded: [] });
  });

  test.each<[string, () => Promise<never>]>([
    ["does not come by the deadline", () => new Promise<never>(() => undefined)],
    ["fails", () => Promise.reject(new Error("secret words of the database"))],
  ])("whose core memory %s goes on without it: answered, stored, degraded, with no sections in prompt and receipt", async (_name, load) => {
    await write("profile", "Name: Ada");
    const began = performance.now();
    const done = await say("hello", { database: where(load), coreMemory: { timeoutMs: 100 } });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(done).toMatchObject({ completed: true, degraded: ["core_memory"], answer: "Hi there." });
    expect(done.receipt.core_memory).toEqual([]);
    expect(systemText()).not.toMatch(/Ada|core_memory/);
    expect(JSON.stringify(done)).not.toContain("secret");
    expect((await say("hello again")).degraded).toEqual([]);
  });

  test("does not use what it read when the beginning of the turn knows of another erase of its user", async () => {
    await write("profile", "Name: Ada");
    const reading: Database = {
      ...opened.database,
      async query(statement) {
        const rows = await opened.database.query(statement);
        if (statement.name !== "core-memory-load") return rows as never;
        return (rows as { last_erasure: string | null }[]).map((row) => ({ ...row, last_erasure: "2001-01-01 00:00:00+00" })) as never;
      },
    };
    const { receipt, degraded } = await say("hello", { database: reading });
    expect(systemText()).not.toContain("Ada");
    expect({ sections: receipt.core_memory, degraded }).toEqual({ sections: [], degraded: [] });
  });
});
