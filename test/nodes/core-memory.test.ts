import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationState } from "../../turn/state.ts";
import { makeCoreMemory, usableCoreMemory, type CoreMemoryParts } from "../../nodes/core-memory.ts";
import type { CoreMemoryStore, LoadedCoreMemory } from "../../stores/postgres/memory/core-memory-store.ts";
import type { StoredSection } from "../../stores/postgres/memory/write-sections.ts";

const NOON = new Date("2024-01-31T12:00:00Z");
const SECTION: StoredSection = {
  section: "profile",
  content: "Name: Ada",
  version: 3,
  updatedBy: "agent",
  updatedAt: NOON,
  saidAt: NOON,
};

/** In the state of a thread it takes the place of what the turn before has loaded. */
const NOTHING = { coreMemory: [], coreMemoryErasure: null };

async function run(load: CoreMemoryStore["load"] | null, parts: Partial<CoreMemoryParts> = {}) {
  const errors: AppError[] = [];
  const node = makeCoreMemory({ coreMemory: load && { load }, timeoutMs: 5_000, ...parts });
  const state = { tenantId: "tenant", userId: "ada" } as unknown as ConversationState;
  const update = await node(state, { context: { onError: (error) => void errors.push(error) } });
  return { update, errors };
}

describe("core_memory", () => {
  test("gives the sections of this tenant's user with their versions, and nothing else of them", async () => {
    const asked: object[] = [];
    const { update, errors } = await run(async (owner) => {
      asked.push(owner);
      return { sections: [SECTION, { ...SECTION, section: "goals", content: "To sail" }], lastErasure: null };
    });
    expect(asked).toEqual([{ tenantId: "tenant", userId: "ada" }]);
    expect(update).toEqual({
      coreMemory: [
        { section: "profile", content: "Name: Ada", version: 3 },
        { section: "goals", content: "To sail", version: 3 },
      ],
      coreMemoryErasure: null,
    });
    expect(errors).toEqual([]);
  });

  test("gives the moment of the last erase that it has seen", async () => {
    const { update } = await run(async () => ({ sections: [], lastErasure: "2024-01-31 12:00:00+00" }));
    expect(update).toEqual({ coreMemory: [], coreMemoryErasure: "2024-01-31 12:00:00+00" });
  });

  test("gives nothing, in place of what an earlier turn of a thread has loaded, and is not degraded where the layer is switched off", async () => {
    expect(await run(null)).toEqual({ update: NOTHING, errors: [] });
  });

  test("gives up by its deadline, degraded, and says why to the log alone", async () => {
    const began = performance.now();
    const { update, errors } = await run(() => new Promise<LoadedCoreMemory>(() => undefined), { timeoutMs: 50 });
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(update).toEqual({ ...NOTHING, degraded: ["core_memory"] });
    expect(errors).toEqual([expect.any(AppError)]);
  });

  test.each<[string, CoreMemoryStore["load"], string]>([
    ["fails", () => Promise.reject(new AppError("storage_unavailable", "The database is away.")), "storage_unavailable"],
    ["fails in an unforeseen way", () => Promise.reject(new Error("secret")), "internal_error"],
    [
      "throws at once",
      () => {
        throw new Error("secret");
      },
      "internal_error",
    ],
  ])("is degraded and does not throw when the database %s", async (_name, load, code) => {
    const { update, errors } = await run(load);
    expect(update).toEqual({ ...NOTHING, degraded: ["core_memory"] });
    expect(errors).toMatchObject([{ code }]);
  });

  test("does not mind that nobody hears of errors", async () => {
    const node = makeCoreMemory({ coreMemory: { load: () => Promise.reject(new Error("away")) }, timeoutMs: 100 });
    const state = { tenantId: "tenant", userId: "ada" } as unknown as ConversationState;
    expect(await node(state, {})).toEqual({ ...NOTHING, degraded: ["core_memory"] });
  });

  test("a read that fails after its deadline harms nobody", async () => {
    const { promise, reject } = Promise.withResolvers<LoadedCoreMemory>();
    const { update } = await run(() => promise, { timeoutMs: 20 });
    reject(new Error("too late"));
    await new Promise((resolve) => setTimeout(resolve, 20)); // an unhandled rejection would end the process
    expect(update).toEqual({ ...NOTHING, degraded: ["core_memory"] });
  });
});

describe("usableCoreMemory", () => {
  const coreMemory = [{ section: "profile", content: "Name: Ada", version: 3 }];

  test.each<[string, string | null, string | null, boolean]>([
    ["the user was never erased", null, null, true],
    ["both have seen the same erase", "yesterday", "yesterday", true],
    ["the user was erased for the first time after it was read", null, "now", false],
    ["the user was erased again after it was read", "yesterday", "now", false],
    ["it was read after an erase that the beginning has not seen", "now", null, false],
  ])("when %s: %p, %p", (_name, coreMemoryErasure, lastErasure, isUsable) => {
    expect(usableCoreMemory({ coreMemory, coreMemoryErasure, lastErasure })).toEqual(isUsable ? coreMemory : []);
  });
});
