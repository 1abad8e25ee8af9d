import { describe, expect, test } from "@jest/globals";
import { archive, storedSection, TRIGGER, update, workingMemory } from "../../support/samples/sample-agent.ts";

const WITH_ARCHIVE = { search: async () => [] };

describe("the memory that the agent works on: what it refuses and logs as refused", () => {
  test.each<[string, { name: string; arguments: unknown }, RegExp, object]>([
    [
      "a tool that there is not",
      { name: "delete_all", arguments: { content: "x" } },
      /no tool "delete_all".*core_memory_update/,
      { operation: "unknown_tool", reason: "delete_all", newValue: "x" },
    ],
    [
      "a tool named like something of every object",
      { name: "constructor", arguments: {} },
      /no tool "constructor"/,
      { operation: "unknown_tool" },
    ],
    ["a tool without a name", { name: "", arguments: null }, /no tool ""/, { operation: "unknown_tool" }],
    [
      "a section that there is not",
      update("secrets", "x"),
      /no section "secrets".*profile, goals/,
      { operation: "core_update", section: "secrets", newValue: "x" },
    ],
    ["no arguments", { name: "core_memory_update", arguments: undefined }, /./, { operation: "core_update", section: null }],
    ["arguments that are no object", { name: "core_memory_update", arguments: '{"section":' }, /./, { operation: "core_update" }],
    ["arguments that are a list", { name: "core_memory_update", arguments: ["profile"] }, /./, { operation: "core_update" }],
    ["no content", { name: "core_memory_update", arguments: { section: "profile" } }, /content: must be a text/, { section: "profile" }],
    [
      "a content that is a list",
      { name: "core_memory_update", arguments: { section: "profile", content: ["x"] } },
      /content/,
      { newValue: null },
    ],
    ["a content that is too long", update("profile", "😀".repeat(2_001)), /more than 2000 characters/, { newValue: "😀".repeat(2_000) }],
    ["a content with a NUL", update("profile", "a\0b"), /cannot be stored/, { newValue: "ab" }],
    ["a content with half a surrogate pair", update("profile", "a\ud83d"), /cannot be stored/, { newValue: "a\ufffd" }],
    ["a reason that is too long", update("profile", "x", "y".repeat(1_001)), /reason/, { reason: "y".repeat(1_001) }],
    ["a blank memory", archive(" "), /content/, { operation: "archival_insert" }],
    [
      "a memory of an unknown type",
      archive("x", { episode_type: "secret" }),
      /episode_type/,
      { operation: "archival_insert", newValue: "x" },
    ],
    ["a memory of too much importance", archive("x", { importance: 1.1 }), /importance/, { operation: "archival_insert" }],
    ["a memory of importance NaN", archive("x", { importance: Number.NaN }), /importance/, { operation: "archival_insert" }],
    ["a blank search", { name: "archival_search", arguments: { query: " " } }, /query/, { operation: "archival_search" }],
    [
      "a search for too many",
      { name: "archival_search", arguments: { query: "x", limit: 21 } },
      /limit/,
      { operation: "archival_search", reason: "x" },
    ],
  ])("%s", async (_name, call, says, logged) => {
    const memory = workingMemory({ ...WITH_ARCHIVE, sections: [storedSection()] });
    const said = await memory.do(call);
    expect(said).toMatch(/^Refused: /);
    expect(said).toMatch(says);
    expect(memory.contents()).toEqual({ profile: "Name: Ada" });
    const { changes, archived, operations } = memory.result();
    expect({ changes, archived }).toEqual({ changes: [], archived: [] });
    expect(operations).toMatchObject([{ actor: "agent", triggerMessageIds: [TRIGGER.messageId], oldValue: null, ...logged }]);
    expect(`Refused: ${operations[0]?.refused}`).toBe(said);
  });

  test.each([archive("x"), { name: "archival_search", arguments: { query: "x" } }])(
    "$name where the archive is switched off",
    async (call) => {
      const memory = workingMemory();
      expect(await memory.do(call)).toMatch(/archive is switched off/);
      expect(memory.result()).toMatchObject({ archived: [], operations: [{ refused: "The archive is switched off." }] });
    },
  );

  test.each([
    ["a section", update(`${"x".repeat(99)}😀`, "x")],
    ["a section with a NUL", update("a\0b", "x")],
    ["a tool", { name: `${"x".repeat(99)}😀`, arguments: {} }],
    ["a tool with a NUL", { name: "a\0b\ud83d", arguments: {} }],
  ])("%s, so that what is logged can be stored", async (_name, call) => {
    const memory = workingMemory(WITH_ARCHIVE);
    await memory.do(call);
    const texts = Object.values(memory.result().operations[0] ?? {}).filter((value) => typeof value === "string");
    expect(texts.filter((text) => text.includes("\0") || !text.isWellFormed())).toEqual([]);
  });
});
