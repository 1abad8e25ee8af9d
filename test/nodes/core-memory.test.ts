import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { makeCoreMemory } from "../../nodes/core-memory.ts";
import { usableCoreMemory } from "../../prompt/turn-prompt.ts";
import type { CoreMemoryStore, LoadedCoreMemory } from "../../stores/postgres/memory/core-memory-store.ts";
import type { ConversationState } from "../../turn/state.ts";

const NOON = new Date("2024-01-31T12:00:00Z");
const SECTION = { section: "profile", content: "Name: Ada", version: 3, updatedBy: "agent" as const, updatedAt: NOON, saidAt: NOON };
/** In the state of a thread it takes the place of what the turn before has loaded. */
const NOTHING = { coreMemory: [], coreMemoryErasure: null };

async function run(load: CoreMemoryStore["load"] | null, timeoutMs = 5_000) {
  const errors: AppError[] = [];
  const node = makeCoreMemory({ coreMemory: load && { load }, timeoutMs });
  const state = { tenantId: "tenant", userId: "ada" } as unknown as ConversationState;
  const update = await node(state, { context: { onError: (error) => void errors.push(error) } });
  expect(await node(state, {})).toEqual(update); // nobody has to hear of errors
  return { update, errors };
}

describe("the node core_memory", () => {
  test("gives the sections of this tenant's user with their versions and nothing more, and the last erase that it has seen", async () => {
    const asked: object[] = [];
    const { update, errors } = await run(async (owner) => {
      asked.push(owner);
      return { sections: [SECTION, { ...SECTION, section: "goals", content: "To sail" }], lastErasure: "2024-01-31 12:00:00+00" };
    });
    expect(asked[0]).toEqual({ tenantId: "tenant", userId: "ada" });
    expect(update).toEqual({
      coreMemory: [
        { section: "profile", content: "Name: Ada", version: 3 },
        { section: "goals", content: "To sail", version: 3 },
      ],
      coreMemoryErasure: "2024-01-31 12:00:00+00",
    });
    expect(errors).toEqual([]);
  });

  test("gives nothing when the layer is switched off, drops what an earlier turn of the thread has loaded, and is not degraded", async () => {
    expect(await run(null)).toEqual({ update: NOTHING, errors: [] });
  });

  const away = new AppError("storage_unavailable", "The database is away.");
  test.each<[string, CoreMemoryStore["load"], string]>([
    ["does not answer by the deadline", () => new Promise<LoadedCoreMemory>(() => undefined), "internal_error"],
    ["fails", () => Promise.reject(away), "storage_unavailable"],
    ["fails in an unforeseen way", () => Promise.reject(new Error("secret")), "internal_error"],
    ["throws at once", () => { throw new Error("secret"); }, "internal_error"], // prettier-ignore
  ])("is degraded and does not throw when the database %s, and says why in the log only", async (_name, load, code) => {
    const { update, errors } = await run(load, 50);
    expect(update).toEqual({ ...NOTHING, degraded: ["core_memory"] });
    expect(errors).toMatchObject([{ code }]);
  });

  test("ignores a read that fails after its deadline", async () => {
    const { promise, reject } = Promise.withResolvers<LoadedCoreMemory>();
    const { update } = await run(() => promise, 20);
    reject(new Error("too late"));
    await new Promise((resolve) => setTimeout(resolve, 20)); // an unhandled rejection would end the process
    expect(update).toEqual({ ...NOTHING, degraded: ["core_memory"] });
  });
});

test.each<[string, string | null, string | null, boolean]>([
  ["the user was never erased", null, null, true],
  ["both have seen the same erase", "yesterday", "yesterday", true],
  ["the user was erased for the first time after it was read", null, "now", false],
  ["the user was erased again after it was read", "yesterday", "now", false],
  ["it was read after an erase that the beginning has not seen", "now", null, false],
])("core memory is used only if no erase came later, as when %s: %p, %p, %p", (_name, coreMemoryErasure, lastErasure, isUsable) => {
  const coreMemory = [{ section: "profile", content: "Name: Ada", version: 3 }];
  expect(usableCoreMemory({ coreMemory, coreMemoryErasure, lastErasure })).toEqual(isUsable ? coreMemory : []);
});
